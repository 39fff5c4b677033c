//! The workers of a job, and everything that each was told: so that a new worker in the place of a
//! lost one can be told again.

use super::link::Link;
use super::message::{Answer, Begin, BegunRows, Reading, Request, Shape};
use super::packed::{Packed, damaged};
use crate::error::{Error, ErrorKind, Result};

/// A worker may be lost this often before a step over all documents succeeds.
const MAX_LOSSES: u32 = 5;

/// See the [module](self).
pub(super) struct Team<'a> {
    pub(super) link: Link<'a>,
    /// What each worker reads, if it reads.
    readings: Option<Vec<Reading>>,
    /// The text model, once it is known.
    model: Option<Packed>,
    /// How each worker begins runs, once that is known.
    begins: Vec<Begin>,
    /// The rows of each worker, from then on.
    begun: Vec<BegunRows>,
    /// How often each worker was lost since the last success.
    losses: Vec<u32>,
}

impl<'a> Team<'a> {
    pub(super) fn new(link: Link<'a>) -> Self {
        let losses = vec![0; link.n_workers()];
        Team { link, readings: None, model: None, begins: Vec::new(), begun: Vec::new(), losses }
    }

    pub(super) fn n_workers(&self) -> usize {
        self.link.n_workers()
    }

    pub(super) fn begins(&self) -> &[Begin] {
        &self.begins
    }

    pub(super) fn begun(&self) -> &[BegunRows] {
        &self.begun
    }

    /// Asks every worker for its rows.
    pub(super) fn shapes(&mut self) -> Result<Vec<Option<Shape>>> {
        self.surely(|team| (0..team.n_workers()).map(|worker| team.link.greet(worker)).collect())
    }

    /// Repeats a step until no worker is lost in it. The step must not depend on what a worker has
    /// been told after its rows were made.
    pub(super) fn surely<T>(&mut self, step: impl Fn(&mut Self) -> Result<T>) -> Result<T> {
        loop {
            match step(self) {
                Ok(done) => {
                    self.succeeded();
                    return Ok(done);
                }
                Err(error) => {
                    if !self.recover(&error)? {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Forgets earlier losses.
    pub(super) fn succeeded(&mut self) {
        self.losses.fill(0);
    }

    /// Lets every worker read its documents.
    pub(super) fn read(
        &mut self,
        readings: Vec<Reading>,
        mut take: impl FnMut(usize, Answer) -> Result<()>,
    ) -> Result<()> {
        self.link.stage = "reading documents";
        let n_workers = self.n_workers();
        let (mut is_done, mut is_taken) = (vec![false; n_workers], vec![false; n_workers]);
        self.link.take_greeted();
        loop {
            let request = |worker: usize| (!is_done[worker]).then(|| Request::Read(readings[worker].clone()));
            let requests = (0..n_workers).map(request).collect();
            let result = self.link.ask_each(requests, |worker, answer| {
                is_done[worker] = true;
                // A worker that was lost after its answer reads again, but counts once.
                if std::mem::replace(&mut is_taken[worker], true) { Ok(()) } else { take(worker, answer) }
            });
            let Err(error) = result else { break };
            if !self.recover(&error)? {
                return Err(error);
            }
            self.link.take_greeted().into_iter().for_each(|worker| is_done[worker] = false);
        }
        self.succeeded();
        self.readings = Some(readings);
        Ok(())
    }

    /// Lets every worker make rows over the terms of the model.
    pub(super) fn vectorize(&mut self, model: Packed) -> Result<Vec<Shape>> {
        self.link.stage = "making rows";
        let request = Request::Vectorize { model };
        let shapes = self.surely(|team| {
            let mut shapes = vec![None; team.n_workers()];
            team.link.ask_all(&request, |worker, answer| {
                let Answer::Vectorized(shape) = answer else { return Err(damaged()) };
                shapes[worker] = Some(shape);
                Ok(())
            })?;
            shapes.into_iter().collect::<Option<Vec<Shape>>>().ok_or_else(damaged)
        })?;
        let Request::Vectorize { model } = request else { unreachable!("it is made above") };
        self.model = Some(model);
        Ok(shapes)
    }

    /// Lets every worker prepare for runs.
    pub(super) fn begin(&mut self, begins: Vec<Begin>) -> Result<()> {
        self.link.stage = "preparing the rows";
        self.begun = self.surely(|team| {
            let mut begun = vec![None; team.n_workers()];
            let requests = begins.iter().map(|begin| Some(Request::Begin(begin.clone()))).collect();
            team.link.ask_each(requests, |worker, answer| {
                let Answer::Begun(rows) = answer else { return Err(damaged()) };
                begun[worker] = Some(rows);
                Ok(())
            })?;
            begun.into_iter().collect::<Option<Vec<BegunRows>>>().ok_or_else(damaged)
        })?;
        self.begins = begins;
        Ok(())
    }

    /// Tells new workers in the place of lost ones everything again. Returns whether the error was
    /// such a loss.
    pub(super) fn recover(&mut self, error: &Error) -> Result<bool> {
        let ErrorKind::WorkerLost { worker, stage } = *error.kind() else { return Ok(false) };
        let mut lost = worker;
        loop {
            self.losses[lost] += 1;
            if self.losses[lost] > MAX_LOSSES {
                return Err(ErrorKind::WorkerLost { worker: lost, stage }.into());
            }
            match self.tell_again(&self.link.unknown()) {
                Ok(()) => return Ok(true),
                Err(error) => match *error.kind() {
                    ErrorKind::WorkerLost { worker, .. } => lost = worker,
                    _ => return Err(error),
                },
            }
        }
    }

    /// Tells some new workers everything, all of them at once.
    fn tell_again(&mut self, workers: &[usize]) -> Result<()> {
        workers.iter().try_for_each(|&worker| self.link.greet(worker).map(drop))?;
        if let Some(readings) = self.readings.clone() {
            self.ask_some(
                workers,
                |worker| Request::Read(readings[worker].clone()),
                |_, answer| matches!(answer, Answer::Counted { .. }),
            )?;
        }
        if let Some(model) = self.model.clone() {
            let request = |_| Request::Vectorize { model: model.clone() };
            self.ask_some(workers, request, |_, answer| matches!(answer, Answer::Vectorized(_)))?;
        }
        if self.begins.is_empty() {
            return Ok(());
        }
        let (begins, begun) = (self.begins.clone(), self.begun.clone());
        let mut other = None;
        self.ask_some(
            workers,
            |worker| Request::Begin(begins[worker].clone()),
            |worker, answer| {
                if !matches!(answer, Answer::Begun(rows) if rows == begun[worker]) {
                    other = Some(worker);
                }
                true
            },
        )?;
        let Some(worker) = other else { return Ok(()) };
        let message = "has other rows than before it was lost; data that is loaded again must be the same";
        Err(ErrorKind::Worker { worker, message: message.to_owned() }.into())
    }

    /// Asks some workers, and checks their answers.
    fn ask_some(
        &mut self,
        workers: &[usize],
        request: impl Fn(usize) -> Request,
        mut is_right: impl FnMut(usize, Answer) -> bool,
    ) -> Result<()> {
        let own = |worker: usize| workers.contains(&worker).then(|| request(worker));
        let requests = (0..self.n_workers()).map(own).collect();
        self.link.ask_each(
            requests,
            |worker, answer| {
                if is_right(worker, answer) { Ok(()) } else { Err(damaged()) }
            },
        )
    }
}
