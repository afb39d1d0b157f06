//! The rules of the budget: who may hold more now, who waits, who is to leave. No clock, no tasks.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// Number of a holder, of a read, or of a session that begins; in the order of their beginning.
pub(crate) type Number = u64;

/// A read of a holder. Reads wait in this order: the oldest holder's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadKey {
    pub(crate) holder: Number,
    pub(crate) number: Number,
}

/// The decision about a request for bytes.
pub(crate) enum Answer {
    Granted,
    /// Granted once this is sent.
    Waits(oneshot::Receiver<()>),
    /// The holder would have more than a holder may.
    TooLarge,
}

/// All that is held, and who waits for more.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Bytes that are held together at most.
    pub(crate) capacity: u64,
    /// Bytes of long reads, and those that sessions keep.
    large: u64,
    /// Bytes of short reads.
    small: u64,
    /// Most bytes that were held at once.
    pub(crate) held_max: u64,
    numbers: Number,
    holders: BTreeMap<Number, Holder>,
    reads: BTreeMap<ReadKey, Read>,
    /// Reads that wait to become, or to grow as, long ones.
    long: BTreeMap<ReadKey, Waiting>,
    /// Reads that wait and stay short.
    short: BTreeMap<ReadKey, Waiting>,
    /// Sessions that wait to begin, by number.
    entrants: BTreeMap<Number, Waiting>,
    /// The read that goes on although its share is used up.
    favoured: Option<ReadKey>,
}

#[derive(Debug, Default)]
struct Holder {
    /// Bytes read and kept.
    bytes: u64,
    kept: u64,
    /// Tells the session to leave; `None` where nothing is kept.
    leave: Option<CancellationToken>,
    is_leaving: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Read {
    bytes: u64,
    is_long: bool,
}

#[derive(Debug)]
struct Waiting {
    bytes: u64,
    granted: oneshot::Sender<()>,
}

impl Pool {
    pub(crate) const fn new(capacity: u64) -> Self {
        Self {
            capacity,
            large: 0,
            small: 0,
            held_max: 0,
            numbers: 0,
            holders: BTreeMap::new(),
            reads: BTreeMap::new(),
            long: BTreeMap::new(),
            short: BTreeMap::new(),
            entrants: BTreeMap::new(),
            favoured: None,
        }
    }

    /// Bytes that one holder has at most.
    pub(crate) const fn largest(&self) -> u64 {
        self.capacity / 4
    }

    /// Longest read that is a short one: a mebibyte of 256.
    const fn short_max(&self) -> u64 {
        self.capacity / 256
    }

    /// Bytes that all hold together, but for one favoured read and one session that leaves, whose quarters are the other half of the budget.
    const fn shared_max(&self) -> u64 {
        self.capacity / 2
    }

    /// Part of it that nothing but short reads takes.
    const fn small_min(&self) -> u64 {
        self.capacity / 8
    }

    /// Share of long reads and of what is kept.
    const fn large_max(&self) -> u64 {
        self.shared_max() - self.small_min()
    }

    /// Bytes held now.
    pub(crate) const fn held(&self) -> u64 {
        self.large + self.small
    }

    /// Number of those who wait.
    pub(crate) fn waiting(&self) -> usize {
        self.long.len() + self.short.len() + self.entrants.len()
    }

    const fn number(&mut self) -> Number {
        self.numbers += 1;
        self.numbers
    }

    /// A holder begins, with nothing.
    pub(crate) fn open(&mut self, leave: Option<CancellationToken>) -> Number {
        let number = self.number();
        self.holders.insert(number, Holder { leave, ..Holder::default() });
        number
    }

    /// A session wants to begin with so many bytes that it keeps. Waits until all reads have what they want, and there is room.
    pub(crate) fn enter(&mut self, number: Number, bytes: u64) -> oneshot::Receiver<()> {
        let (granted, receiver) = oneshot::channel();
        self.entrants.insert(number, Waiting { bytes, granted });
        self.serve();
        receiver
    }

    /// A read of `holder` begins, with nothing.
    pub(crate) fn begin(&mut self, holder: Number) -> ReadKey {
        let read = ReadKey { holder, number: self.number() };
        self.reads.insert(read, Read::default());
        read
    }

    /// `read` wants so many bytes more.
    pub(crate) fn grow(&mut self, read: ReadKey, bytes: u64) -> Answer {
        let has = self.holders.get(&read.holder).map_or(0, |holder| holder.bytes);
        if has.saturating_add(bytes) > self.largest() {
            return Answer::TooLarge;
        }
        let stays_short =
            self.reads.get(&read).is_some_and(|one| !one.is_long && one.bytes + bytes <= self.short_max());
        let waiting = if stays_short { &self.short } else { &self.long };
        let is_first = waiting.first_key_value().is_none_or(|(first, _)| read < *first);
        if self.favoured == Some(read) || (is_first && self.fits(read, bytes, stays_short)) {
            self.add(read, bytes, stays_short);
            return Answer::Granted;
        }
        let (granted, receiver) = oneshot::channel();
        let waiting = if stays_short { &mut self.short } else { &mut self.long };
        waiting.insert(read, Waiting { bytes, granted });
        self.serve();
        Answer::Waits(receiver)
    }

    /// `read` does not wait any more for so many bytes. Where they were granted meanwhile, they are given back.
    pub(crate) fn forget_read(&mut self, read: ReadKey, bytes: u64) {
        if self.long.remove(&read).is_none() && self.short.remove(&read).is_none() {
            self.subtract(read, bytes);
        }
        self.serve();
    }

    /// The same of a session that waits to begin; its holder gives back what it has.
    pub(crate) fn forget_entrant(&mut self, number: Number) {
        self.entrants.remove(&number);
        self.serve();
    }

    /// `read` gives back so many bytes.
    pub(crate) fn shrink(&mut self, read: ReadKey, bytes: u64) {
        self.subtract(read, bytes);
        self.serve();
    }

    /// `read` is over: of its bytes so many are kept, and the others are given back.
    pub(crate) fn end(&mut self, read: ReadKey, kept: u64) {
        if self.favoured == Some(read) {
            self.favoured = None;
        }
        let bytes = self.reads.get(&read).map_or(0, |read| read.bytes);
        self.subtract(read, bytes);
        self.reads.remove(&read);
        self.keep(read.holder, kept);
        self.serve();
    }

    /// A session keeps so many bytes more, which are here already.
    pub(crate) fn keep(&mut self, number: Number, bytes: u64) {
        if let Some(holder) = self.holders.get_mut(&number) {
            holder.bytes += bytes;
            holder.kept += bytes;
            self.large += bytes;
            self.held_max = self.held_max.max(self.held());
        }
    }

    /// A session is no longer told to leave, whatever it keeps.
    pub(crate) fn stay(&mut self, number: Number) {
        if let Some(holder) = self.holders.get_mut(&number) {
            holder.leave = None;
            // Who waits for it would wait for as long as it runs.
            holder.is_leaving = false;
        }
        self.serve();
    }

    /// A holder gives back all that it keeps. Its reads are over.
    pub(crate) fn close(&mut self, number: Number) {
        if let Some(holder) = self.holders.remove(&number) {
            self.large -= holder.kept;
        }
        self.serve();
    }

    /// `true` if the share of `read` has room for so many bytes more.
    fn fits(&self, read: ReadKey, bytes: u64, stays_short: bool) -> bool {
        if stays_short {
            let share = self.shared_max().saturating_sub(self.large).max(self.small_min());
            // Beyond one favoured read, what is kept overdraws its share.
            return self.small + bytes <= share && self.large <= self.large_max() + self.largest();
        }
        let moved = self.reads.get(&read).map_or(0, |read| if read.is_long { 0 } else { read.bytes });
        self.large + moved + bytes <= self.large_max() && self.held() + bytes <= self.shared_max()
    }

    fn has_room_to_enter(&self, bytes: u64) -> bool {
        let has_room = self.large + bytes <= self.large_max() && self.held() + bytes <= self.shared_max();
        // One alone always begins.
        has_room || self.held() == 0
    }

    fn add(&mut self, key: ReadKey, bytes: u64, stays_short: bool) {
        let (Some(read), Some(holder)) = (self.reads.get_mut(&key), self.holders.get_mut(&key.holder)) else { return };
        if !stays_short && !read.is_long {
            read.is_long = true;
            self.small -= read.bytes;
            self.large += read.bytes;
        }
        read.bytes += bytes;
        holder.bytes += bytes;
        *(if stays_short { &mut self.small } else { &mut self.large }) += bytes;
        self.held_max = self.held_max.max(self.held());
    }

    fn subtract(&mut self, key: ReadKey, bytes: u64) {
        let (Some(read), Some(holder)) = (self.reads.get_mut(&key), self.holders.get_mut(&key.holder)) else { return };
        read.bytes -= bytes;
        holder.bytes -= bytes;
        *(if read.is_long { &mut self.large } else { &mut self.small }) -= bytes;
    }

    /// Grants what can be granted.
    fn serve(&mut self) {
        loop {
            let first = |waiting: &BTreeMap<ReadKey, Waiting>| {
                waiting.first_key_value().map(|(read, waiting)| (*read, waiting.bytes))
            };
            let (short, long) = (first(&self.short), first(&self.long));
            let next = match (short, long) {
                (Some((read, bytes)), _) if self.fits(read, bytes, true) => Some(read),
                (_, Some((read, bytes))) if self.fits(read, bytes, false) => Some(read),
                _ => short.into_iter().chain(long).map(|(read, _)| read).min().and_then(|first| self.favour(first)),
            };
            let Some(read) = next else { break };
            if let Some(Waiting { bytes, granted }) = self.short.remove(&read) {
                self.add(read, bytes, true);
                // Who has gone meanwhile gives the bytes back.
                let _ = granted.send(());
            } else if let Some(Waiting { bytes, granted }) = self.long.remove(&read) {
                self.add(read, bytes, false);
                let _ = granted.send(());
            }
        }
        while self.long.is_empty()
            && self.short.is_empty()
            && let Some(entry) = self.entrants.first_entry()
        {
            let (number, bytes) = (*entry.key(), entry.get().bytes);
            if !self.has_room_to_enter(bytes) {
                return;
            }
            if let Some(waiting) = self.entrants.remove(&number) {
                self.keep(number, bytes);
                let _ = waiting.granted.send(());
            }
        }
    }

    /// The read that goes on beyond its share, if one may: the first, or, where what is kept overdraws its share, one of the session that
    /// is leaving.
    fn favour(&mut self, first: ReadKey) -> Option<ReadKey> {
        if self.favoured.is_some() {
            return None;
        }
        self.favoured = if self.large <= self.large_max() {
            Some(first)
        } else {
            // Where nobody keeps anything, nothing else would end.
            self.leaving().map_or(Some(first), |leaving| {
                self.long.keys().chain(self.short.keys()).find(|read| read.holder == leaving).copied()
            })
        };
        self.favoured
    }

    /// The session that leaves; the one that keeps most is told to if none does.
    fn leaving(&mut self) -> Option<Number> {
        if let Some((number, _)) = self.holders.iter().find(|(_, holder)| holder.is_leaving) {
            return Some(*number);
        }
        let keeps = self.holders.iter_mut().filter(|(_, holder)| holder.leave.is_some() && holder.kept > 0);
        let (number, holder) = keeps.max_by_key(|(number, holder)| (holder.kept, **number))?;
        holder.is_leaving = true;
        if let Some(leave) = &holder.leave {
            leave.cancel();
        }
        Some(*number)
    }
}
