//! The server's side of the providers' formats.
