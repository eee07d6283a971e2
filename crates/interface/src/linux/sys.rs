//! The few calls of packet sockets (packet(7)) that neither `socket2` nor `rustix` has: the only unsafe
//! code of the crate. Each block hands the kernel a pointer to one value and its size, or a buffer and
//! its length, and keeps neither beyond the call.
//!
//! What the kernel writes beside a packet is read from plain bytes, in `control`.

#![allow(
    unsafe_code,
    reason = "no safe crate has PACKET_AUXDATA, without which VLAN tags are lost, nor sockaddr_ll"
)]

use socket2::{SockAddr, SockAddrStorage, Socket};
use std::io;
use std::mem;
use std::os::fd::AsRawFd;

/// Any protocol, as sockets and their addresses have it: in network byte order.
const ETH_P_ALL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// Where [`bound`] has this as interface, the one that the socket was bound to is no more (-1).
pub(super) const UNBOUND: u32 = u32::MAX;

/// What the kernel says of a packet beside its bytes, from its `sockaddr_ll`.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct From {
    /// An EtherType, or one of the kernel's numbers for what has none.
    pub(super) protocol: u16,
    pub(super) interface: u32,
    /// ARPHRD_*
    pub(super) hardware: u16,
    /// PACKET_*
    pub(super) kind: u8,
    pub(super) address_bytes: u8,
    pub(super) address: [u8; 8],
}

impl From {
    fn of(address: &libc::sockaddr_ll) -> From {
        From {
            protocol: u16::from_be(address.sll_protocol),
            interface: address.sll_ifindex.cast_unsigned(),
            hardware: address.sll_hatype,
            kind: address.sll_pkttype,
            address_bytes: address.sll_halen,
            address: address.sll_addr,
        }
    }
}

/// What [`receive`] filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// Of the buffer.
    pub(super) bytes: usize,
    /// Of the control buffer.
    pub(super) control: usize,
    pub(super) from: From,
}

/// Receives one packet, without waiting if `at_once`.
pub(super) fn receive(
    socket: &Socket,
    buffer: &mut [u8],
    control: &mut [u8],
    at_once: bool,
) -> io::Result<Received> {
    // SAFETY: both are C structures of numbers and pointers, of which zero is a value; musl's have
    // private padding that can only be set so.
    let (mut address, mut message) = unsafe { mem::zeroed::<(libc::sockaddr_ll, libc::msghdr)>() };
    let mut piece = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen = mem::size_of_val(&address) as libc::socklen_t;
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = control.len() as _;
    let flags = if at_once { libc::MSG_DONTWAIT } else { 0 };
    // SAFETY: `message` points to `address`, `piece`, `buffer` and `control`, which outlive the call, with
    // their lengths.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    Ok(Received {
        bytes: usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?,
        #[allow(
            clippy::unnecessary_cast,
            reason = "glibc has size_t here, musl socklen_t"
        )]
        control: message.msg_controllen as usize,
        from: From::of(&address),
    })
}

/// Binds to an interface, or to all (0), from where on packets come if they are wanted.
pub(super) fn bind(socket: &Socket, interface: u32, wanted: bool) -> io::Result<()> {
    // SAFETY: a `sockaddr_ll` fits into the storage and is initialized in it, with its family, over
    // storage that was zero; its size is given.
    let ((), address) = unsafe {
        SockAddr::try_init(|storage: *mut SockAddrStorage, length| {
            storage
                .cast::<libc::sockaddr_ll>()
                .write(libc::sockaddr_ll {
                    sll_family: libc::AF_PACKET as u16,
                    sll_protocol: if wanted { ETH_P_ALL } else { 0 },
                    sll_ifindex: interface.cast_signed(),
                    ..mem::zeroed()
                });
            length.write(mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t);
            Ok(())
        })
    }?;
    socket.bind(&address)
}

/// The interface that a socket is bound to.
pub(super) fn bound(socket: &Socket) -> io::Result<From> {
    let address = socket.local_addr()?;
    if address.family() != libc::AF_PACKET as libc::sa_family_t {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: the address is in storage that is larger than a `sockaddr_ll`, aligned for any address and
    // initialized, and its family says that it is one.
    Ok(From::of(unsafe { &*address.as_ptr().cast() }))
}

/// Time stamps, and what the kernel knows beside the bytes, with each packet.
pub(super) fn tell_more(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)?;
    set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)
}

/// Frames for others too, as long as the socket is open.
pub(super) fn promiscuous(socket: &Socket, interface: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: interface.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(
        socket,
        libc::SOL_PACKET,
        libc::PACKET_ADD_MEMBERSHIP,
        &membership,
    )
}

/// `struct tpacket_stats`: packets that passed the filter, those among them that were dropped.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Statistics {
    pub(super) packets: u32,
    pub(super) drops: u32,
}

/// What happened since the last time that was asked.
pub(super) fn statistics(socket: &Socket) -> io::Result<Statistics> {
    let mut found = Statistics::default();
    let mut length = mem::size_of_val(&found) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `found`, of whose bytes any are a value.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    done(failed).map(|()| found)
}

fn set<T: Copy>(socket: &Socket, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads the size of `value` from it. The options above hold no pointers.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            mem::size_of::<T>() as libc::socklen_t,
        )
    };
    done(failed)
}

fn done(failed: libc::c_int) -> io::Result<()> {
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
