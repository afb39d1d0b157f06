//! Somebody who may annotate and steer, so that pages have all forms.

use std::future::ready;

use futures::future::BoxFuture;
use regatta_proto::{OwnerName, SweepId};
use regatta_viewer::annotations::Annotator;
use regatta_viewer::{Asker, Authors, Order, Refused, Steering};

/// Name under which she annotates.
pub(crate) const NAME: &str = "ann";

/// The same person, whoever asks.
pub(crate) struct Anybody;

impl Authors for Anybody {
    fn name<'a>(&'a self, _: &'a Asker) -> BoxFuture<'a, Option<Annotator>> {
        Box::pin(ready(NAME.parse().ok()))
    }

    fn begin<'a>(&'a self, _: &'a Asker, _: &'a str) -> BoxFuture<'a, Result<u64, Refused>> {
        Box::pin(ready(Ok(1)))
    }

    fn end<'a>(&'a self, _: u64, _: &'a str, _: Option<&'a str>) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }
}

impl Steering for Anybody {
    fn allows<'a>(&'a self, _: &'a Asker, _: Option<&'a OwnerName>) -> BoxFuture<'a, bool> {
        Box::pin(ready(true))
    }

    fn steer<'a>(&'a self, _: &'a Asker, _: &'a SweepId, _: &'a Order) -> BoxFuture<'a, Result<(), Refused>> {
        Box::pin(ready(Ok(())))
    }
}
