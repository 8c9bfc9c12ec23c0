//! Frames on a stream, and how long the other side may say nothing.

use ringside_persist::mirror::frame::{HEAD_LEN, Head};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// How long the other side may say nothing, or take for a handshake.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);
/// The setting that names keys of leader and mirror.
pub(crate) const KEYS: &str = "mirror_keys";
/// The first pause before a side connects again, and the longest.
pub(crate) const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// What is said of the other side then.
pub(crate) const SILENT: &str = "the other side says nothing";
/// How often something is said.
pub(crate) const BEAT: Duration = Duration::from_millis(500);

/// The next frame: its head, and what is behind it in `payload`.
///
/// Errors: I/O; silence; no frame.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin), payload: &mut Vec<u8>) -> io::Result<Head> {
    let read = async {
        let mut bytes = [0; HEAD_LEN];
        stream.read_exact(&mut bytes).await?;
        let head = Head::read(&bytes).map_err(io::Error::other)?;
        payload.resize(head.len(), 0);
        stream.read_exact(payload).await?;
        Ok(head)
    };
    timeout(SILENCE, read).await.map_err(|_| io::Error::other(SILENT))?
}
