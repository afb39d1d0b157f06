//! Forms with files (`multipart/form-data`, RFC 7578), as far as uploads use them.

use bytes::Bytes;

/// One part of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) content: Bytes,
}

/// Parses a form of `content_type`.
///
/// # Errors
/// The problem, as a clause.
pub(super) fn parse(content_type: &str, body: &Bytes) -> Result<Vec<Part>, String> {
    let boundary = content_type
        .strip_prefix("multipart/form-data")
        .and_then(|parameters| parameter(parameters, "boundary"))
        .ok_or("expected a multipart/form-data with a boundary")?;
    let delimiter = [b"--", boundary.as_bytes()].concat();
    let mut at = find(body, &delimiter).ok_or("the boundary does not occur")? + delimiter.len();
    let delimiter = [b"\r\n".as_slice(), &delimiter].concat();
    let mut parts = Vec::new();
    while !body[at..].starts_with(b"--") {
        let end = at + find(&body[at..], &delimiter).ok_or("the last boundary is missing")?;
        parts.push(part(&body.slice(at..end))?);
        at = end + delimiter.len();
    }
    Ok(parts)
}

/// Parses the bytes between two boundaries.
fn part(bytes: &Bytes) -> Result<Part, String> {
    let head_end = find(bytes, b"\r\n\r\n").ok_or("a part without an end of its headers")?;
    let head = std::str::from_utf8(&bytes[..head_end]).map_err(|_| "a part whose headers are not UTF-8")?;
    let disposition = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))
        .map(|(_, value)| value)
        .ok_or("a part without a Content-Disposition")?;
    let name = parameter(disposition, "name").ok_or("a part without a name")?;
    let file_name = parameter(disposition, "filename");
    Ok(Part { name, file_name, content: bytes.slice(head_end + 4..) })
}

/// A parameter in a header's value, quoted or not.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    parameters.split(';').filter_map(|parameter| parameter.split_once('=')).find_map(|(key, value)| {
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Position of the first occurrence in `hay` of `needle`, which is not empty.
fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let mut begin = 0;
    // Few bytes of a file equal the first byte of a boundary, so hardly more than one byte is ever compared.
    while let Some(at) = hay[begin..].iter().position(|byte| *byte == needle[0]) {
        let at = begin + at;
        if hay[at..].starts_with(needle) {
            return Some(at);
        }
        begin = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_and_files_are_read() {
        let body = "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
                    --b\r\ncontent-type: text/plain\r\ncontent-disposition: form-data; name=file; filename=\"a b.jsonl\"\r\n\r\n\
                    {\"one\": 1}\n\r\n--not\r\n\r\n--b--\r\n";
        let parts = parse("multipart/form-data; boundary=\"b\"", &Bytes::from_static(body.as_bytes())).unwrap();
        let part = |name: &str, file_name: Option<&str>, content: &'static str| Part {
            name: name.to_owned(),
            file_name: file_name.map(str::to_owned),
            content: Bytes::from_static(content.as_bytes()),
        };
        assert_eq!(
            parts,
            [part("purpose", None, "batch"), part("file", Some("a b.jsonl"), "{\"one\": 1}\n\r\n--not\r\n")]
        );
    }

    #[test]
    fn a_form_that_is_none_is_refused_with_a_reason() {
        let error =
            |content_type, body: &'static str| parse(content_type, &Bytes::from_static(body.as_bytes())).unwrap_err();
        insta::assert_snapshot!(
            [
                error("application/json", "{}"),
                error("multipart/form-data", "--b"),
                error("multipart/form-data; boundary=b", "{}"),
                error("multipart/form-data; boundary=b", "--b\r\nno end"),
                error("multipart/form-data; boundary=b", "--b\r\nno head\r\n--b--"),
                error("multipart/form-data; boundary=b", "--b\r\nx: y\r\n\r\n\r\n--b--"),
                error("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data\r\n\r\n\r\n--b--"),
            ]
            .join("\n")
        );
    }

    proptest! {
        #[test]
        fn whatever_is_sent_it_is_read_or_refused(body in proptest::collection::vec(prop_oneof![
            Just(b"--b".to_vec()), Just(b"\r\n".to_vec()), Just(b"\r\n\r\n".to_vec()),
            Just(b"content-disposition: form-data; name=x".to_vec()), Just(b"--".to_vec()), any::<[u8; 2]>().prop_map(|b| b.to_vec()),
        ], 0..24)) {
            let _ = parse("multipart/form-data; boundary=b", &body.concat().into());
        }
    }
}
