//! One client: its frames, its identity, its subscriptions. Its socket is [`super::wire`].
//!
//! A session is one task on its worker's thread. It never waits for its own socket while something else is to be done: each
//! turn reads what has come, as far as a turn's work goes, answers, and writes what fits. What does not fit stays in the queue
//! ([`ringside_streams::send_queue`]), and what the queue does not hold is lost.
//!
//! Frames are paid for before they are carried out: one each from the connection's bucket ([`super::wire::Bucket`]), and from the
//! weight of the address ([`FRAME_WEIGHT`]). One that is not paid is answered RATE_LIMITED. What an address sends in vain is spread:
//! its sessions rest in turn before they read on, and its own sockets hold it up.

use super::armed::Armed;
use super::frame::{self, ClientFrame, ErrorCode};
use super::stream::key;
use super::stream::subscriptions::{Opening, Streams};
use super::wire::{Bucket, Over, Read, Socket, Wire};
use crate::http::limits::Client;
use crate::login::{LOGIN_WEIGHT, account_of};
use crate::worker::Worker;
use ringside_auth::jwt::TOKEN_LIFE_S;
use ringside_auth::login::{Claim, LoginRefusal};
use ringside_auth::logout::Grant;
use ringside_core::ids::AccountId;
use ringside_streams::channel::Channel;
use ringside_streams::envelope::{self, Form};
use ringside_streams::registry::Again;
use ringside_streams::send_queue::{FRAMES_MAX, SendQueue};
use ringside_streams::sessions::{Connection, Life};
use ringside_streams::snapshot::{Moment, Snapshot};
use ringside_streams::topic::{Kind, Topic};
use ringside_views::Views;
use ringside_wire::fault::Fault;
use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Sleep, sleep};
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Channels of one connection (`spot.md` 11).
const CHANNELS_MAX: usize = 200;
/// Bytes of unsent answers above which no further frame is read.
const ANSWERS_LEN_MAX: usize = 256 * 1_024;
/// Frames in the queue above which a gap is not yet told.
const GAP_BELOW: usize = FRAMES_MAX / 2;
/// Frames that a client may send although none is carried out, before it is closed (`spot.md` 12).
const REFUSED_MAX: u32 = 1_000;
/// What a frame costs that is no short ping.
pub(crate) const FRAME_WEIGHT: u32 = 1;
/// A frame costs one more for so many bytes.
const BYTES_PER_WEIGHT: usize = 1_024;
/// What it costs beside to be shown a whole book, as over HTTP, or to have a token judged.
const BOOK_WEIGHT: u32 = 4;
/// Longest frame that is looked at as a ping, which costs nothing.
const PING_LEN_MAX: usize = 128;
/// Frames, and times so many bytes, of one turn.
const TURN_WORK: usize = 16;
const BYTES_PER_WORK: usize = 4_096;
/// Why a frame is refused that the address does not pay for.
const UNPAID: &str = "the weight of this address is spent";
/// A change of what is armed on its way, and how it is answered.
type Arming = Pin<Box<dyn Future<Output = Result<Utf8Bytes, (ErrorCode, &'static str)>>>>;
/// A login on its way.
type Login = Pin<Box<dyn Future<Output = Result<Identity, &'static str>>>>;

/// See the module.
pub struct Session {
    wire: Wire,
    worker: Rc<Worker>,
    /// Who pays for its frames.
    client: Arc<Client>,
    connection: Connection,
    identity: Option<Identity>,
    /// A login by signature that waits for its turn or for the engine; nothing is read meanwhile.
    login: Option<Login>,
    /// Nothing is read before it is over.
    rest: Option<Pin<Box<Sleep>>>,
    subscriptions: Vec<Subscription>,
    streams: Streams,
    /// Whose orders end with it; gone once that is the engine's to know.
    armed: Option<Armed>,
    /// An answer of the engine that is waited for; nothing is read meanwhile.
    arming: Option<Arming>,
}

/// Who a client has shown to be.
#[derive(Clone, Debug)]
struct Identity {
    account: AccountId,
    life: Life,
}

impl Identity {
    /// By a login, until then in UNIX seconds.
    fn until(account: AccountId, expires_at_s: i64, login: Grant) -> Identity {
        Identity { account, life: Life { expires_at_s, key: None, login: Some(login) } }
    }
}

struct Subscription {
    channel: Channel,
    topic: Topic,
    form: Form,
    /// Under the connection's identity, not a token of its own.
    is_by_identity: bool,
    life: Life,
}

impl Session {
    /// A session on an upgraded connection, with the streams that its address names.
    pub fn new(
        socket: Socket,
        worker: Rc<Worker>,
        client: Arc<Client>,
        connection: Connection,
        opening: Opening,
    ) -> Session {
        let config = worker.config.clone();
        let frames = Bucket::new(config.websocket_frames_at_once, config.websocket_frames_per_second);
        let wire = Wire::new(socket, &config, frames, REFUSED_MAX);
        let mut streams = Streams::default();
        streams.open(opening, &worker, &connection);
        connection.queue.set_listen_keys(streams.keys().cloned().collect());
        let subscriptions = Vec::new();
        let armed = Some(Armed::new(worker.clone()));
        Session {
            wire,
            worker,
            client,
            connection,
            identity: None,
            login: None,
            rest: None,
            subscriptions,
            streams,
            armed,
            arming: None,
        }
    }

    /// Serves the client until the connection is over.
    pub async fn run(mut self) {
        poll_fn(|context| self.poll(context)).await;
        let armed = self.armed.take();
        drop(self);
        if let Some(armed) = armed {
            armed.lost().await;
        }
    }

    /// One turn. Ready when the connection is over.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.wire.attend(context, &self.connection.queue);
        let mut work = TURN_WORK;
        loop {
            if self.wire.watch(context).is_err() {
                return Poll::Ready(());
            }
            self.expire();
            self.finish_login(context);
            self.finish_arming(context);
            self.rest.take_if(|rest| rest.as_mut().poll(context).is_ready());
            let has_read = match self.read(context, &mut work) {
                Ok(has_read) => has_read,
                Err(Over) => return Poll::Ready(()),
            };
            self.tell_gaps();
            match self.wire.write(context, &self.connection.queue, false) {
                Err(Over) => return Poll::Ready(()),
                // The others of this thread first.
                Ok(_) if work == 0 => {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // Answers may have left: then there is room for further frames of the client.
                Ok(has_written) if has_read || (has_written && self.is_reading()) => continue,
                Ok(_) if self.has_gaps_to_tell() => continue,
                Ok(_) => return Poll::Pending,
            }
        }
    }

    /// Whether gaps are told now. Of a connection that closes they never are.
    fn has_gaps_to_tell(&self) -> bool {
        self.wire.is_open() && self.connection.queue.has_gaps() && self.connection.queue.len() <= GAP_BELOW
    }

    /// Ends what the time of a credential ends.
    fn expire(&mut self) {
        let now_ms = self.worker.clock.now_ms();
        let keys = self.connection.queue.take_ended_keys(now_ms);
        let is_late = now_ms.div_euclid(1_000) >= self.connection.queue.expires_at_s.get();
        if keys.is_empty() && !is_late && !self.connection.queue.has_ended_login() {
            return;
        }
        keys.iter().for_each(|key| self.streams.end_key(key, &self.worker, &self.connection));
        self.identity.take_if(|identity| identity.life.is_over(now_ms));
        let (over, rest) = std::mem::take(&mut self.subscriptions)
            .into_iter()
            .partition(|subscription: &Subscription| subscription.life.is_over(now_ms));
        self.subscriptions = rest;
        for Subscription { channel, topic, form, life, .. } in over {
            self.connection.unsubscribe(topic, form);
            match &life.key {
                Some(key) => {
                    let last = key::expired(&self.worker, key);
                    self.connection.queue.answer(envelope::push(key::EXPIRED, &channel.name, None, &last));
                }
                None => {
                    self.refuse(ErrorCode::AuthRequired, "the credential has expired", Some(&channel.name))
                }
            }
        }
        self.note_expiry();
    }

    /// Notes when [`Session::expire`] has something to do again.
    fn note_expiry(&self) {
        let lives = || {
            let subscriptions = self.subscriptions.iter().map(|subscription| &subscription.life);
            subscriptions.chain(self.identity.as_ref().map(|identity| &identity.life))
        };
        let queue = &self.connection.queue;
        queue.expires_at_s.set(lives().map(|life| life.expires_at_s).min().unwrap_or(i64::MAX));
        // One key is there as often as it is used; the list is as short as that of the subscriptions.
        let keys = lives().filter_map(|life| life.key.as_ref()).chain(self.streams.keys());
        queue.set_listen_keys(keys.cloned().collect());
        queue.set_logins(lives().filter_map(|life| life.login.clone()).collect());
    }

    fn is_reading(&self) -> bool {
        self.login.is_none()
            && self.arming.is_none()
            && self.rest.is_none()
            && self.connection.queue.answers_len() <= ANSWERS_LEN_MAX
    }

    /// Reads and answers as many frames as there is work left; says whether there was any.
    fn read(&mut self, context: &mut Context<'_>, work: &mut usize) -> Result<bool, Over> {
        let mut has_read = false;
        while *work > 0 && self.is_reading() {
            let len = match self.wire.read(context)? {
                Read::Waiting => break,
                Read::Text(text) => {
                    self.answer(&text);
                    text.len()
                }
                Read::Binary(len) => {
                    if self.is_paid(len, false) {
                        self.refuse(ErrorCode::InvalidMessage, "text frames only", None);
                    }
                    len
                }
                Read::Other => 0,
            };
            *work = work.saturating_sub(1 + len / BYTES_PER_WORK);
            has_read = true;
        }
        Ok(has_read)
    }

    /// Takes a frame of so many bytes out of its bucket and charges it, before anything is done with it; else it is refused.
    fn is_paid(&mut self, len: usize, is_ping: bool) -> bool {
        if !self.wire.admits(is_ping) {
            self.limit(len, "too many frames", None);
            return false;
        }
        let weight = FRAME_WEIGHT + u32::try_from(len / BYTES_PER_WEIGHT).unwrap_or(u32::MAX);
        let is_paid = is_ping || self.pays(weight);
        if !is_paid {
            self.limit(len, UNPAID, None);
        }
        is_paid
    }

    /// Charges the address; false where its weight is spent.
    fn pays(&mut self, weight: u32) -> bool {
        let limits = &self.worker.shared.edge.limits;
        let charged = limits.charge_frame(&self.client, weight, self.worker.clock.now_ms());
        if charged.is_err() {
            self.wire.refused();
        }
        charged.is_ok()
    }

    /// Refuses a frame that is one too many, or not paid.
    fn limit(&mut self, len: usize, message: &str, channel: Option<&str>) {
        self.refuse(ErrorCode::RateLimited, message, channel);
        let rest = self.client.refuse_frame(len);
        if !rest.is_zero() {
            self.wire.narrow();
            self.rest = Some(Box::pin(sleep(rest)));
        }
    }

    fn answer(&mut self, text: &str) {
        self.connection.queue.renew_listen_keys(self.worker.clock.now_ms());
        let short = (text.len() <= PING_LEN_MAX).then(|| ClientFrame::parse(text));
        if !self.is_paid(text.len(), short == Some(Ok(ClientFrame::Ping))) {
            return;
        }
        let frame = match short.unwrap_or_else(|| ClientFrame::parse(text)) {
            Ok(frame) => frame,
            Err(malformed) => return self.refuse(ErrorCode::InvalidMessage, malformed, None),
        };
        let is_login = matches!(
            frame,
            ClientFrame::Auth { .. } | ClientFrame::AuthToken { .. } | ClientFrame::AuthSignature { .. }
        );
        if is_login && !self.pays(LOGIN_WEIGHT - FRAME_WEIGHT) {
            return self.limit(text.len(), UNPAID, None);
        }
        match frame {
            ClientFrame::Request(request) => {
                let (id, action) = request.read();
                if action.as_ref().is_ok_and(|action| !self.pays(self.streams.weight(action))) {
                    return self.limit(text.len(), UNPAID, None);
                }
                let answer = self.streams.answer(id, action, &self.worker, &self.connection);
                self.connection.queue.answer(answer);
                self.note_expiry();
            }
            ClientFrame::Ping => {
                self.wire.hear();
                self.connection.queue.answer(frame::pong(self.worker.clock.now_ms()));
            }
            ClientFrame::Auth { listen_key } => {
                let key = key::find(&self.worker, &listen_key).ok_or("invalid listenKey");
                let identity = key.map(|key| {
                    let account = key.account();
                    Identity { account, life: Life { key: Some(key), ..Life::ENDLESS } }
                });
                self.logged_in(identity);
            }
            ClientFrame::AuthToken { token } => {
                let identity = self.identify(&token).map_err(|fault| match fault {
                    Fault::TokenExpired => "token expired",
                    _ => "invalid token",
                });
                self.logged_in(identity);
            }
            ClientFrame::AuthSignature { address, nonce, signature, version } => {
                let text = |text: Cow<'_, str>| text.into_owned();
                self.sign_in(Claim {
                    version: version.unwrap_or(1),
                    address: text(address),
                    nonce: text(nonce),
                    signature: text(signature),
                });
            }
            ClientFrame::Subscribe { channel, token, resume, from } => {
                let token = token.as_deref();
                match self.subscribe(&channel, token, resume, from) {
                    Ok(()) => {}
                    Err((ErrorCode::RateLimited, message, channel)) => {
                        self.limit(text.len(), message, Some(channel));
                    }
                    Err((code, message, channel)) => self.refuse(code, message, Some(channel)),
                }
            }
            ClientFrame::CancelOnDisconnect { symbol, grace_ms } => {
                if !self.pays(BOOK_WEIGHT) {
                    return self.limit(text.len(), UNPAID, None);
                }
                if let Err((code, message)) = self.arm(symbol.as_deref(), grace_ms) {
                    self.refuse(code, message, None);
                }
            }
            ClientFrame::Unsubscribe { channel } => self.unsubscribe(&channel),
        }
    }

    fn refuse(&self, code: ErrorCode, message: &str, channel: Option<&str>) {
        self.connection.queue.answer(frame::error(code, message, channel));
    }

    fn identify(&self, token: &str) -> Result<Identity, Fault> {
        let shared = &*self.worker.shared;
        let now_s = self.worker.clock.now_s();
        let (bearer, login) = shared.edge.auth.read_token(token.as_bytes(), now_s, shared)?;
        Ok(Identity::until(bearer.account, bearer.expires_at_s, login))
    }

    /// Answers an authentication. A new identity takes the place of the one before, whose subscriptions end.
    fn logged_in(&mut self, outcome: Result<Identity, &'static str>) {
        let outcome = outcome.map(|identity| {
            let connection = &self.connection;
            self.subscriptions.retain(|subscription| {
                if subscription.is_by_identity {
                    connection.unsubscribe(subscription.topic, subscription.form);
                }
                !subscription.is_by_identity
            });
            self.identity = Some(identity);
            self.note_expiry();
        });
        self.connection.queue.answer(frame::auth_result(outcome));
    }

    /// Begins to judge a login by signature. Who signed is found out elsewhere, and a good one may have to wait for its account.
    fn sign_in(&mut self, claim: Claim) {
        let (worker, client) = (self.worker.clone(), self.client.clone());
        self.login = Some(Box::pin(async move {
            let auth = &worker.shared.edge.auth;
            let now_s = worker.clock.now_s();
            let signed = auth.check_login(&claim, &*client, now_s).await;
            let signed = signed.map_err(text_of)?;
            // Without an account the nonce is not used up: the same frame may be sent again.
            let account = account_of(&worker, signed.address).await.map_err(|_| "try again")?;
            auth.finish_login(&signed, now_s).map_err(text_of)?;
            // It lasts as long as a token that were made of it.
            let issued_at_s = auth.logouts.issue_at_s(account, now_s);
            let login = auth.logouts.grant(account, issued_at_s);
            Ok(Identity::until(account, issued_at_s + TOKEN_LIFE_S, login))
        }));
    }

    fn finish_login(&mut self, context: &mut Context<'_>) {
        if let Some(login) = &mut self.login
            && let Poll::Ready(outcome) = login.as_mut().poll(context)
        {
            self.login = None;
            self.logged_in(outcome);
        }
    }

    /// Begins to arm or disarm; the answer follows the engine's.
    fn arm(&mut self, symbol: Option<&str>, grace_ms: Option<u32>) -> Result<(), (ErrorCode, &'static str)> {
        let identity = self.identity.as_ref().ok_or((ErrorCode::AuthRequired, "authenticate first"))?;
        if identity.life.key.is_some() {
            return Err((ErrorCode::AuthRequired, "a listen key reads only: log in"));
        }
        let Some(armed) = &mut self.armed else { return Ok(()) };
        let markets = armed.markets(symbol);
        if markets.is_empty() {
            return Err((ErrorCode::InvalidSymbol, "no such market"));
        }
        let submission = armed.set(identity.account, &markets, grace_ms);
        if grace_ms.is_some() {
            self.wire.guard();
        }
        let symbol = symbol.filter(|symbol| !symbol.is_empty()).map(str::to_ascii_uppercase);
        self.arming = Some(Box::pin(async move {
            let taken = submission.await.is_ok_and(|reply| reply.done.rejected().is_none());
            match taken {
                true => Ok(frame::armed(symbol.as_deref(), grace_ms)),
                false => Err((ErrorCode::Unavailable, "the engine did not take it: try again")),
            }
        }));
        Ok(())
    }

    fn finish_arming(&mut self, context: &mut Context<'_>) {
        if let Some(arming) = &mut self.arming
            && let Poll::Ready(outcome) = arming.as_mut().poll(context)
        {
            self.arming = None;
            match outcome {
                Ok(answer) => self.connection.queue.answer(answer),
                Err((code, message)) => self.refuse(code, message, None),
            }
        }
    }

    fn subscribe<'a>(
        &mut self,
        name: &'a str,
        token: Option<&str>,
        is_resuming: bool,
        from: Option<u64>,
    ) -> Result<(), (ErrorCode, &'static str, &'a str)> {
        let channel = Channel::parse(name, &self.worker.shared.views.read());
        let Some(channel) = channel.filter(|channel| !channel.is_over()) else {
            return Err((ErrorCode::InvalidChannel, "no such channel", name));
        };
        let has_more = channel.row().kind == Kind::Depth || channel.is_private() && token.is_some();
        if has_more && !self.pays(BOOK_WEIGHT) {
            return Err((ErrorCode::RateLimited, UNPAID, name));
        }
        let identity = match token {
            _ if !channel.is_private() => Identity { account: 0, life: Life::ENDLESS },
            Some(token) => {
                self.identify(token).map_err(|_| (ErrorCode::AuthRequired, "the token is not good", name))?
            }
            None => self.identity.clone().ok_or((ErrorCode::AuthRequired, "authenticate first", name))?,
        };
        let before = self.subscriptions.iter().position(|other| *other.channel.name == *channel.name);
        if before.is_none() && self.subscriptions.len() >= CHANNELS_MAX {
            return Err((ErrorCode::TooManySubscriptions, "at most 200 channels", name));
        }
        let topic = channel.topic(identity.account);
        let before = before.map(|place| self.subscriptions.swap_remove(place));
        // One of another account ends; one of the same is replaced without a moment in which nobody listens.
        let form = if is_resuming { Form::Numbered } else { Form::Channel };
        let replaced = match &before {
            Some(other) if other.topic != topic => {
                self.connection.unsubscribe(other.topic, other.form);
                None
            }
            other => other.as_ref().map(|other| other.form),
        };
        let (entry, snapshot) = {
            let views = self.worker.shared.views.read();
            let entry = self.connection.subscribe(topic, replaced, form, from, identity.life.clone());
            let wants_snapshot = entry.again.is_none();
            let snapshot = channel.row().snapshot.filter(|_| wants_snapshot);
            (entry, snapshot.and_then(|take| take(&moment(&self.worker, &views), topic)))
        };
        let seq = |seq| is_resuming.then_some(seq);
        let queue = &self.connection.queue;
        let begin = from.filter(|_| is_resuming && entry.again.is_some()).unwrap_or(entry.since);
        queue.answer(envelope::about("subscribed", &channel.name, seq(begin)));
        if is_resuming
            && entry.again.is_none()
            && let Some(from) = from
        {
            queue.answer(envelope::gap(&channel.name, from, entry.since, channel.row().reads));
        }
        match entry.again {
            None => {}
            Some(Again::Frames(frames)) => frames.into_iter().for_each(|frame| queue.answer(frame)),
            Some(Again::Events(events)) => events.iter().for_each(|event| {
                let data = event.data.as_bytes();
                queue.answer(envelope::push(&event.name, &channel.name, Some(event.number), data));
            }),
        }
        show(queue, &channel, snapshot, seq(entry.since));
        self.subscriptions.push(Subscription {
            is_by_identity: channel.is_private() && token.is_none(),
            channel,
            topic,
            form,
            life: identity.life,
        });
        self.note_expiry();
        Ok(())
    }

    fn unsubscribe(&mut self, name: &str) {
        let Some(channel) = Channel::parse(name, &self.worker.shared.views.read()) else {
            return self.refuse(ErrorCode::InvalidChannel, "no such channel", Some(name));
        };
        if let Some(place) = self.subscriptions.iter().position(|other| *other.channel.name == *channel.name)
        {
            let subscription = self.subscriptions.swap_remove(place);
            self.connection.unsubscribe(subscription.topic, subscription.form);
            self.note_expiry();
        }
        self.connection.queue.answer(envelope::about("unsubscribed", &channel.name, None));
    }

    /// Tells of lost pushes once there is room for what follows.
    fn tell_gaps(&mut self) {
        if !self.has_gaps_to_tell() {
            return;
        }
        for topic in self.connection.queue.take_gaps() {
            let Some(subscription) = self.subscriptions.iter().find(|other| other.topic == topic) else {
                self.streams.tell_gap(topic, &self.worker, &self.connection);
                continue;
            };
            let row = subscription.channel.row();
            let (gap, snapshot) = {
                let views = self.worker.shared.views.read();
                let gap = self.connection.go_on(topic, Form::Numbered);
                (gap, row.snapshot.and_then(|take| take(&moment(&self.worker, &views), topic)))
            };
            let Some((before, since)) = gap else { continue };
            let queue = &self.connection.queue;
            queue.answer(envelope::gap(&subscription.channel.name, before, since, row.reads));
            show(queue, &subscription.channel, snapshot, Some(since));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for subscription in &self.subscriptions {
            self.connection.unsubscribe(subscription.topic, subscription.form);
        }
        self.streams.leave(&self.connection);
    }
}

fn show(queue: &SendQueue, channel: &Channel, snapshot: Option<Snapshot>, seq: Option<u64>) {
    if let Some(snapshot) = snapshot {
        let (mut data, frame_type) = (Vec::new(), snapshot.frame_type(channel.row().frame_type));
        snapshot.write(&mut data, channel.market.as_ref());
        queue.answer(envelope::push(frame_type, &channel.name, seq, &data));
    }
}

fn moment<'a>(worker: &'a Worker, views: &'a Views) -> Moment<'a> {
    Moment { views, registry: &worker.shared.registry, now_ms: worker.clock.now_ms() }
}

/// An address that is none has no nonce.
fn text_of(refusal: LoginRefusal) -> &'static str {
    match refusal {
        LoginRefusal::InvalidAddress | LoginRefusal::NonceInvalid => "invalid nonce",
        LoginRefusal::InvalidSignature | LoginRefusal::SignatureInvalid => "invalid signature",
        LoginRefusal::InvalidVersion => "invalid version",
    }
}
