//! Requests to all workers, and their answers.

use super::message::{Answer, Head, PROTOCOL, Request, Shape, decode, encode};
use super::packed::damaged;
use crate::error::{ErrorKind, Result};

/// Carries messages to workers and back: over Ray, pipes, threads, or anything else.
///
/// Workers are numbered from 0. A request may be delivered more than once, if an answer was lost: a
/// worker answers it again without doing it again. A worker that was replaced by a new one, without
/// any state, answers as such, and then gets everything again.
pub trait Transport: Send {
    /// The number of workers.
    fn n_workers(&self) -> usize;

    /// Sends `requests[i]` to worker `i`, unless it is `None`, together with `shared`, the same
    /// bytes for all; calls `answer` with the number of the worker and the bytes that
    /// [`ShardWorker::handle`](crate::ShardWorker::handle) returned, in any order.
    ///
    /// # Errors
    /// If a worker cannot be reached and is not replaced in time, or if the job was cancelled.
    fn call(
        &mut self,
        requests: &[Option<Vec<u8>>],
        shared: &[u8],
        answer: &mut dyn FnMut(usize, Vec<u8>) -> Result<()>,
    ) -> Result<()>;
}

/// Messages and bytes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Rounds: requests to one or more workers at a time.
    pub n_rounds: u64,
    /// Bytes to workers; those that are the same for all are counted once.
    pub bytes_down: u64,
    /// Bytes from workers.
    pub bytes_up: u64,
}

/// See the [module](self).
pub(super) struct Link<'a> {
    transport: &'a mut dyn Transport,
    /// The present life of each worker; 0 if it is not known.
    incarnations: Vec<u64>,
    sequence: u64,
    pub(super) traffic: Traffic,
    /// What the workers are doing, for messages.
    pub(super) stage: &'static str,
    /// The workers that were greeted since this was taken.
    greeted: Vec<usize>,
}

/// For whom a request is.
pub(super) enum To {
    All,
    One(usize),
}

impl<'a> Link<'a> {
    pub(super) fn new(transport: &'a mut dyn Transport) -> Self {
        let n_workers = transport.n_workers();
        Link {
            transport,
            incarnations: vec![0; n_workers],
            sequence: 0,
            traffic: Traffic::default(),
            stage: "starting",
            greeted: Vec::new(),
        }
    }

    pub(super) fn n_workers(&self) -> usize {
        self.incarnations.len()
    }

    /// The workers whose life is not known.
    pub(super) fn unknown(&self) -> Vec<usize> {
        (0..self.n_workers()).filter(|&worker| self.incarnations[worker] == 0).collect()
    }

    /// Asks a worker which life it is in; from then on, requests are for that life.
    pub(super) fn greet(&mut self, worker: usize) -> Result<Option<Shape>> {
        self.incarnations[worker] = 0;
        match self.ask_one(worker, &Request::Hello)? {
            Answer::Hello { incarnation, shape } => {
                self.incarnations[worker] = incarnation;
                self.greeted.push(worker);
                Ok(shape)
            }
            _ => Err(damaged()),
        }
    }

    /// The workers that were greeted since the last call: those that are new.
    pub(super) fn take_greeted(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.greeted)
    }

    /// Asks one worker.
    pub(super) fn ask_one(&mut self, worker: usize, request: &Request) -> Result<Answer> {
        let mut found = None;
        self.ask(To::One(worker), request, |_, answer| {
            found = Some(answer);
            Ok(())
        })?;
        found.ok_or_else(damaged)
    }

    /// Asks all workers the same; answers are taken as they arrive.
    pub(super) fn ask_all(
        &mut self,
        request: &Request,
        take: impl FnMut(usize, Answer) -> Result<()>,
    ) -> Result<()> {
        self.ask(To::All, request, take)
    }

    fn ask(
        &mut self,
        to: To,
        request: &Request,
        take: impl FnMut(usize, Answer) -> Result<()>,
    ) -> Result<()> {
        let body = encode(request);
        let is_asked = |worker: usize| match to {
            To::All => true,
            To::One(only) => worker == only,
        };
        self.sequence += 1;
        let head = |worker: usize| is_asked(worker).then(|| self.head(worker, None));
        let heads = (0..self.n_workers()).map(head).collect();
        self.call(heads, &body, matches!(request, Request::Hello), take)
    }

    /// Asks some workers different things.
    pub(super) fn ask_each(
        &mut self,
        requests: Vec<Option<Request>>,
        take: impl FnMut(usize, Answer) -> Result<()>,
    ) -> Result<()> {
        self.sequence += 1;
        let numbered = requests.into_iter().enumerate();
        let heads = numbered.map(|(worker, own)| own.map(|own| self.head(worker, Some(own)))).collect();
        self.call(heads, &[], false, take)
    }

    fn head(&self, worker: usize, own: Option<Request>) -> Vec<u8> {
        let (incarnation, sequence) = (self.incarnations[worker], self.sequence);
        encode(&Head { protocol: PROTOCOL, incarnation, sequence, own })
    }

    fn call(
        &mut self,
        heads: Vec<Option<Vec<u8>>>,
        body: &[u8],
        is_greeting: bool,
        mut take: impl FnMut(usize, Answer) -> Result<()>,
    ) -> Result<()> {
        let Link { transport, incarnations, traffic, stage, .. } = self;
        let is_lost = |&worker: &usize| heads[worker].is_some() && incarnations[worker] == 0;
        if !is_greeting && let Some(worker) = (0..heads.len()).find(is_lost) {
            return Err(ErrorKind::WorkerLost { worker, stage }.into());
        }
        traffic.n_rounds += 1;
        traffic.bytes_down += body.len() as u64;
        traffic.bytes_down += heads.iter().flatten().map(|head| head.len() as u64).sum::<u64>();
        let mut waiting: Vec<bool> = heads.iter().map(Option::is_some).collect();
        let mut lost = None;
        let mut failed: Option<(usize, String)> = None;
        transport.call(&heads, body, &mut |worker, bytes| {
            traffic.bytes_up += bytes.len() as u64;
            if !std::mem::replace(waiting.get_mut(worker).ok_or_else(damaged)?, false) {
                return Err(damaged());
            }
            match decode(&bytes)? {
                // The others are heard first: they may be lost, too.
                Answer::Lost => {
                    incarnations[worker] = 0;
                    lost.get_or_insert(worker);
                    Ok(())
                }
                // The first in the order of the documents, as on one machine.
                Answer::Failed { message } => {
                    if failed.as_ref().is_none_or(|(other, _)| worker < *other) {
                        failed = Some((worker, message));
                    }
                    Ok(())
                }
                _ if failed.is_some() => Ok(()),
                // Also if another is lost: some steps need not be repeated for this one.
                answer => take(worker, answer),
            }
        })?;
        if let Some((worker, message)) = failed {
            return Err(ErrorKind::Worker { worker, message }.into());
        }
        if let Some(worker) = lost {
            return Err(ErrorKind::WorkerLost { worker, stage }.into());
        }
        if waiting.contains(&true) { Err(damaged()) } else { Ok(()) }
    }
}
