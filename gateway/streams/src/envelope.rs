//! Pushes, encoded in the forms that are wanted, and the envelope around the data of each.

use super::topic::Topic;
use bytes::Bytes;
use ringside_wire::write;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// In which shape a listener wants its pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{type, channel, data}`, as in `spot.md`.
    Channel,
    /// The same with the number.
    Numbered,
    /// The payload, bare or in the wrapper of the stream protocol.
    Stream,
    /// The same of an account, with the number as its last member.
    NumberedStream,
}

impl Form {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// Whether its listener can go on where it left.
    pub const fn is_numbered(self) -> bool {
        matches!(self, Form::Numbered | Form::NumberedStream)
    }
}

/// One push, encoded in the forms that are wanted.
#[derive(Clone, Debug)]
pub struct Push {
    /// To whom.
    pub topic: Topic,
    /// Its number.
    pub seq: u64,
    /// [`Form::Channel`].
    pub plain: Option<Utf8Bytes>,
    /// [`Form::Numbered`].
    pub numbered: Option<Utf8Bytes>,
    /// [`Form::Stream`].
    pub stream: Option<StreamFrames>,
    /// [`Form::NumberedStream`]: of few.
    pub numbered_stream: Option<Box<StreamFrames>>,
}

/// Both shapes of a stream's event. One is a part of the other, so they share their bytes.
#[derive(Clone, Debug)]
pub struct StreamFrames {
    /// The payload.
    pub raw: Utf8Bytes,
    /// `{"stream": name, "data": payload}`. Absent for user data, whose name is the listener's own.
    pub combined: Option<Utf8Bytes>,
    /// Name of the event; empty for market data.
    pub event: &'static str,
}

impl Push {
    /// Bytes of its frames.
    pub(super) fn len(&self) -> usize {
        let stream = self.stream.as_ref().map(|stream| stream.combined.as_ref().unwrap_or(&stream.raw));
        let numbered_stream = self.numbered_stream.as_ref().map(|stream| &stream.raw);
        [self.plain.as_ref(), self.numbered.as_ref(), stream, numbered_stream]
            .into_iter()
            .flatten()
            .map(|frame| frame.len())
            .sum()
    }
}

/// `subscribed`, `unsubscribed` or `gap` of a channel, whose name needs no escapes.
pub fn about(frame_type: &str, channel: &str, seq: Option<u64>) -> Utf8Bytes {
    let mut out = Vec::with_capacity(80);
    begin(&mut out, frame_type, channel, seq);
    out.push(b'}');
    finished(out)
}

/// A push of a channel around its data.
pub fn push(frame_type: &str, channel: &str, seq: Option<u64>, data: &[u8]) -> Utf8Bytes {
    let mut out = Vec::with_capacity(96 + data.len());
    begin(&mut out, frame_type, channel, seq);
    out.extend_from_slice(b",\"data\":");
    out.extend_from_slice(data);
    out.push(b'}');
    finished(out)
}

/// An event of a stream, bare and in the wrapper, written once.
pub fn stream(name: &str, data: &[u8]) -> StreamFrames {
    let combined = Bytes::from(wrap(name, data));
    let start = combined.len() - 1 - data.len();
    let raw = combined.slice(start..combined.len() - 1);
    StreamFrames { raw: finished(raw), combined: Some(finished(combined)), event: "" }
}

/// An event in the wrapper of the stream protocol. A name needs no escapes.
pub fn wrapped(name: &str, data: &str) -> Utf8Bytes {
    finished(wrap(name, data.as_bytes()))
}

/// A payload with its number.
pub fn numbered(data: &[u8], seq: u64) -> Utf8Bytes {
    let mut out = Vec::with_capacity(data.len() + 28);
    out.extend_from_slice(data.strip_suffix(b"}").unwrap_or(data));
    out.extend_from_slice(b",\"seq\":");
    write(&mut out, &seq);
    out.push(b'}');
    finished(out)
}

/// `gap` of a channel: what lies behind `from`, up to `seq`, is not told again; `reads` are the routes that say what came of it.
pub fn gap(channel: &str, from: u64, seq: u64, reads: &[&str]) -> Utf8Bytes {
    let mut out = Vec::with_capacity(160);
    begin(&mut out, "gap", channel, Some(from));
    if !reads.is_empty() {
        end_of_gap(&mut out, "through", seq, reads);
    }
    out.push(b'}');
    finished(out)
}

/// An event of a numbered stream about itself: `streamResumed`, or with what is missing `streamGap`.
pub fn stream_state(now_ms: i64, seq: u64, gap: Option<(u64, &[&str])>) -> Vec<u8> {
    let name = if gap.is_some() { "streamGap" } else { "streamResumed" };
    let mut out = format!("{{\"e\":\"{name}\",\"E\":{now_ms}").into_bytes();
    match gap {
        None => {
            out.extend_from_slice(b",\"seq\":");
            write(&mut out, &seq);
        }
        Some((from, reads)) => {
            out.extend_from_slice(b",\"from\":");
            write(&mut out, &from);
            end_of_gap(&mut out, "seq", seq, reads);
        }
    }
    out.push(b'}');
    out
}

fn end_of_gap(out: &mut Vec<u8>, name: &str, seq: u64, reads: &[&str]) {
    out.extend_from_slice(format!(",\"{name}\":").as_bytes());
    write(out, &seq);
    out.extend_from_slice(b",\"read\":[\"");
    out.extend_from_slice(reads.join("\",\"").as_bytes());
    out.extend_from_slice(b"\"]");
}

/// A payload as it is.
pub fn text(data: &[u8]) -> Utf8Bytes {
    finished(data.to_vec())
}

fn wrap(name: &str, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(24 + name.len() + data.len());
    for part in [b"{\"stream\":\"", name.as_bytes(), b"\",\"data\":", data, b"}"] {
        out.extend_from_slice(part);
    }
    out
}

fn begin(out: &mut Vec<u8>, frame_type: &str, channel: &str, seq: Option<u64>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(frame_type.as_bytes());
    out.extend_from_slice(b"\",\"channel\":\"");
    out.extend_from_slice(channel.as_bytes());
    out.push(b'"');
    if let Some(seq) = seq {
        out.extend_from_slice(b",\"seq\":");
        write(out, &seq);
    }
}

/// A frame that was written as text.
pub fn finished(out: impl Into<Bytes>) -> Utf8Bytes {
    Utf8Bytes::try_from(out.into()).expect("frames are written from text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_are_written_as_specified() {
        assert_eq!(&*about("subscribed", "c", None), r#"{"type":"subscribed","channel":"c"}"#);
        assert_eq!(
            &*push("spot_trade", "c", Some(7), b"{}"),
            r#"{"type":"spot_trade","channel":"c","seq":7,"data":{}}"#
        );
        assert_eq!(
            &*push("spot_trade", "c", None, b"{}"),
            r#"{"type":"spot_trade","channel":"c","data":{}}"#
        );
        assert_eq!(&*numbered(br#"{"e":"x"}"#, 9), r#"{"e":"x","seq":9}"#);
        assert_eq!(&*gap("c", 3, 9, &[]), r#"{"type":"gap","channel":"c","seq":3}"#);
        assert_eq!(
            &*gap("c", 3, 9, &["/a", "/b"]),
            r#"{"type":"gap","channel":"c","seq":3,"through":9,"read":["/a","/b"]}"#
        );
        let state = |gap| String::from_utf8(stream_state(1, 9, gap)).unwrap();
        assert_eq!(state(None), r#"{"e":"streamResumed","E":1,"seq":9}"#);
        assert_eq!(state(Some((3, &["/a"]))), r#"{"e":"streamGap","E":1,"from":3,"seq":9,"read":["/a"]}"#);
    }
}
