package sandbox

import "syscall"

// endWithUs has the kernel end a program when ohgw is killed. A shell is hung up,
// so that it passes that on to its jobs.
func endWithUs(attr *syscall.SysProcAttr) {
	attr.Pdeathsig = syscall.SIGKILL
	if attr.Setsid {
		attr.Pdeathsig = syscall.SIGHUP
	}
}
