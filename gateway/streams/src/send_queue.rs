//! The queue of one connection: 256 frames of pushes at most, what is above is dropped.
//!
//! Answers to the client's own frames are never dropped, since it would wait for them; instead the session reads no further
//! frames while many bytes of answers are unsent. Everything here stays on the worker's thread.

use super::topic::Topic;
use ringside_auth::listen_key::ListenKey;
use ringside_auth::logout::Grant;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Frames of a queue (`spot.md` 11).
pub const FRAMES_MAX: usize = 256;

/// A session as those see it that have something for it.
#[derive(Debug, Default)]
pub struct SendQueue {
    frames: RefCell<VecDeque<Frame>>,
    answers_len: Cell<usize>,
    /// Resuming subscriptions that lost a frame.
    gaps: RefCell<Vec<Topic>>,
    waker: RefCell<Option<Waker>>,
    is_closing: Cell<bool>,
    /// UNIX seconds: when the session must look at its credentials again.
    pub expires_at_s: Cell<i64>,
    /// Listen keys that the session lives by.
    listen_keys: RefCell<Vec<Arc<ListenKey>>>,
    /// Logins that it lives by.
    logins: RefCell<Vec<Grant>>,
}

#[derive(Debug)]
struct Frame {
    text: Utf8Bytes,
    is_answer: bool,
}

impl SendQueue {
    /// Queues a push; false if there is no room for it.
    pub fn push(&self, text: &Utf8Bytes) -> bool {
        let mut frames = self.frames.borrow_mut();
        if frames.len() >= FRAMES_MAX {
            return false;
        }
        // Whoever has frames left to send is awake, or woken by its socket.
        if frames.is_empty() {
            self.wake();
        }
        frames.push_back(Frame { text: text.clone(), is_answer: false });
        true
    }

    /// Queues an answer.
    pub fn answer(&self, text: Utf8Bytes) {
        self.answers_len.set(self.answers_len.get() + text.len());
        self.frames.borrow_mut().push_back(Frame { text, is_answer: true });
    }

    /// Takes the next frame out.
    pub fn take(&self) -> Option<Utf8Bytes> {
        let frame = self.frames.borrow_mut().pop_front()?;
        if frame.is_answer {
            self.answers_len.set(self.answers_len.get() - frame.text.len());
        }
        Some(frame.text)
    }

    /// Frames in the queue.
    pub fn len(&self) -> usize {
        self.frames.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.frames.borrow().is_empty()
    }

    /// Bytes of answers in the queue.
    pub fn answers_len(&self) -> usize {
        self.answers_len.get()
    }

    /// Notes that a resuming subscription has lost a frame.
    pub fn lose(&self, topic: Topic) {
        self.gaps.borrow_mut().push(topic);
        self.wake();
    }

    /// Takes the subscriptions that lost frames.
    pub fn take_gaps(&self) -> Vec<Topic> {
        self.gaps.take()
    }

    /// Whether any has.
    pub fn has_gaps(&self) -> bool {
        !self.gaps.borrow().is_empty()
    }

    /// Asks the session to end.
    pub fn close(&self) {
        self.is_closing.set(true);
        self.wake();
    }

    /// Whether it was asked to.
    pub fn is_closing(&self) -> bool {
        self.is_closing.get()
    }

    /// Notes the listen keys that the session lives by.
    pub fn set_listen_keys(&self, keys: Vec<Arc<ListenKey>>) {
        *self.listen_keys.borrow_mut() = keys;
    }

    /// Gives them a whole life from now.
    pub fn renew_listen_keys(&self, now_ms: i64) {
        for key in self.listen_keys.borrow().iter() {
            // One that is over is told to the session by the sweep.
            key.renew(now_ms);
        }
    }

    /// Takes those out that are over.
    pub fn take_ended_keys(&self, now_ms: i64) -> Vec<Arc<ListenKey>> {
        if !self.has_ended_key(now_ms) {
            return Vec::new();
        }
        self.listen_keys.borrow_mut().extract_if(.., |key| !key.is_active(now_ms)).collect()
    }

    /// Whether one is over.
    pub fn has_ended_key(&self, now_ms: i64) -> bool {
        self.listen_keys.borrow().iter().any(|key| !key.is_active(now_ms))
    }

    /// Notes the logins that the session lives by.
    pub fn set_logins(&self, logins: Vec<Grant>) {
        *self.logins.borrow_mut() = logins;
    }

    /// Whether the account of one has logged out.
    pub fn has_ended_login(&self) -> bool {
        self.logins.borrow().iter().any(Grant::is_over)
    }

    /// Notes the task to wake.
    pub fn set_waker(&self, waker: &Waker) {
        let mut noted = self.waker.borrow_mut();
        if !noted.as_ref().is_some_and(|noted| noted.will_wake(waker)) {
            *noted = Some(waker.clone());
        }
    }

    /// Wakes the session.
    pub fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_above_the_limit_are_dropped_and_answers_are_not() {
        let queue = SendQueue::default();
        let frame = Utf8Bytes::from_static("12345");
        assert_eq!((0..300).filter(|_| queue.push(&frame)).count(), FRAMES_MAX);
        queue.answer(frame.clone());
        assert_eq!((queue.len(), queue.answers_len()), (FRAMES_MAX + 1, 5));
        assert!(!queue.push(&frame));
        while queue.take().is_some() {}
        assert_eq!((queue.len(), queue.answers_len()), (0, 0));
        assert!(queue.push(&frame));
    }
}
