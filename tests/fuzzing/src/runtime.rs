//! The runtime of what is asynchronous: one thread, as a fuzzer has it.

thread_local! {
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| runtime.block_on(future))
}
