//! Waits with a bound, for what other processes bring about.

use std::time::Duration;

use crate::HarnessError;

/// Longest wait: a machine under load is slow, and a test that waits longer is stuck.
const PATIENCE: Duration = Duration::from_secs(300);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Waits for `awaited`, a noun phrase: looks until `look` finds it. The error of a look is what was there instead.
///
/// # Errors
/// When it is not there in time; says what the last look saw.
pub async fn until<T>(
    awaited: impl Into<String>,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> Result<T, HarnessError> {
    let mut seen = "nothing yet".to_owned();
    let looking = async {
        loop {
            match look().await {
                Ok(found) => return found,
                Err(instead) => seen = instead,
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, looking).await.ok();
    found.ok_or_else(|| HarnessError::TooLate { awaited: awaited.into(), waited: PATIENCE, seen })
}

/// Waits for `awaited`, a noun phrase, which `future` brings.
///
/// # Errors
/// When it does not come in time.
pub async fn in_time<T>(awaited: &str, future: impl Future<Output = T>) -> Result<T, HarnessError> {
    let came = tokio::time::timeout(PATIENCE, future).await.ok();
    came.ok_or_else(|| HarnessError::TooLate {
        awaited: awaited.to_owned(),
        waited: PATIENCE,
        seen: "nothing yet".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_late_is_found_and_what_never_comes_is_told_with_the_last_look() {
        let mut looks = 0;
        let found = until("the third look", async || {
            looks += 1;
            if looks == 3 { Ok(looks) } else { Err(format!("look {looks}")) }
        });
        assert_eq!(found.await.unwrap(), 3);
        let never = until::<()>("the end", async || Err("state running".to_owned())).await.unwrap_err();
        assert_eq!(never.to_string(), "failed to see the end within 300 s; the last look saw: state running");
        let never = in_time("a line", std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(never.to_string(), "failed to see a line within 300 s; the last look saw: nothing yet");
    }
}
