//go:build linux && (amd64 || arm64)

package seccomp

import "golang.org/x/sys/unix"

// shared are ways to other programs of the user that neither Landlock nor the
// filter of level full closes, as the programs share their namespaces.
var shared = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// Notified are the calls that the broker makes for the programs, beside one ioctl
// that opens the other side of a new terminal.
var Notified = []uint32{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN}

// socketFlags do not belong to the type of a socket.
const socketFlags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK

// Reduced makes the program of level reduced for this architecture.
func Reduced() []unix.SockFilter {
	f := newFilter(unix.SECCOMP_RET_USER_NOTIF)
	for _, number := range shared {
		f.when(number, deny(unix.ENOSYS))
	}
	for _, number := range Notified {
		f.when(number, unix.SECCOMP_RET_USER_NOTIF)
	}
	f.section(unix.SYS_SOCKET, streams)
	f.section(unix.SYS_SOCKETPAIR, pairs)
	f.section(unix.SYS_SETSOCKOPT, options)
	// Data in the first packet connects without a call of connect.
	f.section(unix.SYS_SENDTO, func(f *filter) { f.flags(3, unix.MSG_FASTOPEN) })
	f.section(unix.SYS_SENDMSG, func(f *filter) { f.flags(2, unix.MSG_FASTOPEN) })
	f.section(unix.SYS_SENDMMSG, func(f *filter) { f.flags(3, unix.MSG_FASTOPEN) })
	// The broker has to look into a program that calls. An SSH agent, which keeps others
	// of the user from that, is told that it does.
	f.section(unix.SYS_PRCTL, func(f *filter) {
		f.load(offArgs)
		f.unless(unix.PR_SET_DUMPABLE, unix.SECCOMP_RET_ALLOW)
		f.load(offArgs + 8)
		f.when(0, deny(0))
		f.ret(unix.SECCOMP_RET_ALLOW)
	})
	// The limits of another process can end it.
	f.section(unix.SYS_PRLIMIT64, func(f *filter) {
		f.load(offArgs)
		f.unless(0, deny(unix.EPERM))
		f.ret(unix.SECCOMP_RET_ALLOW)
	})
	for _, number := range scheduling {
		f.section(number, func(f *filter) { f.own(0) })
	}
	f.section(unix.SYS_SETPRIORITY, func(f *filter) { f.ownOf(unix.PRIO_PROCESS) })
	f.section(unix.SYS_IOPRIO_SET, func(f *filter) { f.ownOf(ioprioProcess) })
	f.ret(unix.SECCOMP_RET_ALLOW)
	return f.code
}

// scheduling are calls that change when and where another process of the user runs,
// which their first argument names. Programs may use them for themselves only: a filter
// cannot see which other processes are of the sandbox.
var scheduling = []uint32{
	unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
}

// ioprioProcess is IOPRIO_WHO_PROCESS.
const ioprioProcess = 1

// ownOf refuses a call about more than one process, or about another one than the caller.
func (f *filter) ownOf(process uint32) {
	f.load(offArgs)
	f.unless(process, deny(unix.EPERM))
	f.own(1)
}

// own refuses a call whose argument names another process than the caller.
func (f *filter) own(arg uint32) {
	f.load(offArgs + 8*arg)
	f.unless(0, deny(unix.EPERM))
	f.ret(unix.SECCOMP_RET_ALLOW)
}

// streams allows TCP, Unix sockets with connections, and netlink for routes. Datagrams
// need no connect, and MPTCP is not TCP for the rules of Landlock.
func streams(f *filter) {
	f.load(offArgs)
	f.section(unix.AF_UNIX, pairs)
	f.section(unix.AF_NETLINK, func(f *filter) {
		f.load(offArgs + 16)
		f.unless(unix.NETLINK_ROUTE, deny(unix.EAFNOSUPPORT))
		f.ret(unix.SECCOMP_RET_ALLOW)
	})
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET, 2, 0)
	f.unless(unix.AF_INET6, deny(unix.EAFNOSUPPORT))
	f.kind(unix.SOCK_STREAM, deny(unix.EACCES))
	f.load(offArgs + 16)
	f.when(0, unix.SECCOMP_RET_ALLOW)
	f.unless(unix.IPPROTO_TCP, deny(unix.EPROTONOSUPPORT))
	f.ret(unix.SECCOMP_RET_ALLOW)
}

// pairs allows sockets and pairs with connections. One for datagrams could send
// elsewhere.
func pairs(f *filter) {
	f.load(offArgs + 8)
	f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, ^uint32(socketFlags), 0, 0)
	f.when(unix.SOCK_STREAM, unix.SECCOMP_RET_ALLOW)
	f.unless(unix.SOCK_SEQPACKET, deny(unix.EPROTONOSUPPORT))
	f.ret(unix.SECCOMP_RET_ALLOW)
}

// steering are options that send the packets of a connection elsewhere, or connect
// later than connect does; by their level.
var steering = []struct {
	level uint32
	names []uint32
}{
	{unix.IPPROTO_IP, []uint32{unix.IP_OPTIONS}},
	{unix.IPPROTO_IPV6, []uint32{unix.IPV6_RTHDR, unix.IPV6_2292RTHDR, unix.IPV6_2292PKTOPTIONS}},
	{unix.IPPROTO_TCP, []uint32{unix.TCP_FASTOPEN, unix.TCP_FASTOPEN_CONNECT, unix.TCP_FASTOPEN_KEY, unix.TCP_ULP}},
}

func options(f *filter) {
	for _, s := range steering {
		f.load(offArgs + 8)
		f.section(s.level, func(f *filter) {
			f.load(offArgs + 16)
			for _, name := range s.names {
				f.when(name, deny(unix.EPERM))
			}
			f.ret(unix.SECCOMP_RET_ALLOW)
		})
	}
	f.ret(unix.SECCOMP_RET_ALLOW)
}

// kind refuses sockets of another type than the value.
func (f *filter) kind(value, action uint32) {
	f.load(offArgs + 8)
	f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, ^uint32(socketFlags), 0, 0)
	f.unless(value, action)
}

// InstallReduced restricts the calling thread, which must have no_new_privs, and
// what it starts, with the filter of level reduced. The descriptor gets a
// notification for each call of [Notified]; until it is answered, the caller waits
// and no signal but a deadly one interrupts it.
func InstallReduced() (listener int, err error) {
	fd, err := install(Reduced(), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	return int(fd), err
}
