//! Handing a ring to another process: its descriptor, sent over a Unix socket (`SCM_RIGHTS`).
//!
//! Knows nothing of what the descriptor is; whoever receives one checks it as any foreign memory (`buffer.rs`).
#![allow(unsafe_code)]

use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Room for one control message with one descriptor, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; CONTROL_LEN]);

/// `CMSG_SPACE` of one descriptor.
const CONTROL_LEN: usize = size_of::<libc::cmsghdr>() + 8;
/// A message needs at least one byte to carry a descriptor.
const MARK: u8 = b'R';

/// Sends a copy of a descriptor. Waits while the socket is full.
pub(super) fn send_fd(socket: &UnixStream, fd: BorrowedFd<'_>) -> Result<()> {
    let mut mark = [MARK];
    let mut control = Control([0; CONTROL_LEN]);
    let mut part = libc::iovec { iov_base: mark.as_mut_ptr().cast(), iov_len: mark.len() };
    let message = message(&mut part, &mut control);
    // SAFETY: `message` names live memory of the stated lengths. The control buffer is aligned and has room for one
    // header and one descriptor, so the header's place is not null and the descriptor fits behind it.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd.as_raw_fd());
        again(|| libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_NOSIGNAL))
    };
    sent.map(|_| ())
}

/// Receives a descriptor; waits for it. `UnexpectedEof` when the peer has gone, `InvalidData` when it sent something
/// else.
pub(super) fn receive_fd(socket: &UnixStream) -> Result<OwnedFd> {
    let mut mark = [0];
    let mut control = Control([0; CONTROL_LEN]);
    let mut part = libc::iovec { iov_base: mark.as_mut_ptr().cast(), iov_len: mark.len() };
    let mut message = message(&mut part, &mut control);
    // SAFETY: as in `send_fd`; the kernel fills what it has room for. It gives no more than one descriptor, the length
    // of the control buffer being that of one, and whoever finds it here owns it.
    let (received, fd) = unsafe {
        let received = again(|| libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC))?;
        let header = libc::CMSG_FIRSTHDR(&message);
        let is_fd = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len as usize == libc::CMSG_LEN(size_of::<RawFd>() as u32) as usize;
        let fd = is_fd.then(|| libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned());
        (received, fd.map(|fd| OwnedFd::from_raw_fd(fd)))
    };
    match fd {
        _ if received == 0 => Err(Error::new(ErrorKind::UnexpectedEof, "the peer has gone")),
        Some(fd) if mark == [MARK] && message.msg_flags & libc::MSG_CTRUNC == 0 => Ok(fd),
        _ => Err(Error::new(ErrorKind::InvalidData, "a message without a ring's descriptor")),
    }
}

/// A message of one part and room for one descriptor.
fn message(part: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: every field may be zero: no name, no parts, no flags.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: computes a length.
    message.msg_controllen = unsafe { libc::CMSG_LEN(size_of::<RawFd>() as u32) } as _;
    message
}

/// Calls again while a signal interrupts the call.
fn again(mut call: impl FnMut() -> isize) -> Result<usize> {
    loop {
        let outcome = call();
        match usize::try_from(outcome) {
            Ok(len) => return Ok(len),
            Err(_) => {
                let error = Error::last_os_error();
                if error.kind() != ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn a_descriptor_arrives_and_anything_else_is_refused() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let (probe, other_end) = UnixStream::pair().unwrap();
        send_fd(&here, probe.as_fd()).unwrap();
        let mut copy = UnixStream::from(receive_fd(&there).unwrap());
        copy.write_all(b"x").unwrap();
        let mut byte = [0];
        std::io::Read::read_exact(&mut &other_end, &mut byte).unwrap();
        assert_eq!(&byte, b"x");
        here.write_all(&[MARK]).unwrap();
        assert_eq!(receive_fd(&there).unwrap_err().kind(), ErrorKind::InvalidData);
        drop(here);
        assert_eq!(receive_fd(&there).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
