//! Pages of lists.

use hyper::Uri;

use crate::api_error::ApiError;

/// Default number of entries on a page, of both providers.
const LIMIT: usize = 20;

/// A value of a query; ids and numbers need no decoding.
pub(super) fn value<'u>(uri: &'u Uri, name: &str) -> Option<&'u str> {
    let pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
}

/// The requested number of entries on a page, at most `most`.
pub(super) fn limit(uri: &Uri, most: usize) -> Result<usize, ApiError> {
    let Some(text) = value(uri, "limit") else {
        return Ok(LIMIT);
    };
    match text.parse() {
        Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
        _ => Err(ApiError::bad_request(Some("limit"), format!("`limit` is from 1 to {most}, is {text:?}"))),
    }
}

/// The first `limit` entries after the one with the id `after`, and `true` if there are more. Nothing follows an unknown id.
pub(super) fn page<T>(entries: Vec<T>, limit: usize, after: Option<&str>, id: impl Fn(&T) -> &str) -> (Vec<T>, bool) {
    let begin = after.map_or(Some(0), |after| entries.iter().position(|entry| id(entry) == after).map(|at| at + 1));
    let mut rest: Vec<T> = entries.into_iter().skip(begin.unwrap_or(usize::MAX)).collect();
    let has_more = rest.len() > limit;
    rest.truncate(limit);
    (rest, has_more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_follows_the_entry_that_is_named() {
        let entries = || vec!["d", "c", "b", "a"];
        let page = |limit, after| page(entries(), limit, after, |entry| *entry);
        assert_eq!(page(2, None), (vec!["d", "c"], true));
        assert_eq!(page(2, Some("c")), (vec!["b", "a"], false));
        assert_eq!(page(2, Some("a")), (vec![], false));
        assert_eq!(page(2, Some("x")), (vec![], false));
    }

    #[test]
    fn a_limit_is_a_number_within_bounds() {
        let limit = |uri: &str| limit(&uri.parse().unwrap(), 100);
        assert_eq!((limit("/batches"), limit("/batches?after=x&limit=7")), (Ok(20), Ok(7)));
        for bad in ["/b?limit=0", "/b?limit=101", "/b?limit=many"] {
            assert_eq!(limit(bad).unwrap_err().param.as_deref(), Some("limit"), "{bad}");
        }
    }
}
