package inside

import (
	"encoding/json"
	"errors"

	"golang.org/x/sys/unix"
)

// send sends a message with descriptors.
func (h *helper) send(m Message, fds ...int) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	h.sending.Lock()
	defer h.sending.Unlock()
	return again(func() error { return unix.Sendmsg(controlFD, data, rights, nil, unix.MSG_NOSIGNAL) })
}

// receive waits for a message of the daemon. There are 0 bytes when the daemon is gone.
func receive(data, oob []byte) (n, oobn int, err error) {
	err = again(func() (err error) {
		n, oobn, _, _, err = unix.Recvmsg(controlFD, data, oob, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	return n, oobn, err
}

// again makes a system call that a signal has interrupted once more.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
