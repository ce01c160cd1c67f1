// Package sandbox makes attempts to leave the sandbox, and does everyday work in it, with
// the built program and as an ordinary user: root starts the tests as uid 65534.
//
// The attempts run inside by `ohgw sandbox run`, from the program in ./attempt. What
// came of them is looked at from outside: files of the user before and after,
// listeners, processes, a name server. Where root allows it, that outside is a
// network namespace of its own with public addresses; the everyday work has the real
// network. An attempt that could not be made is an error, never "refused". All are
// made without a sandbox, too, where most succeed: the tests can fail. Ten are made by
// an embedded agent of `ohgw serve`, whose model is scripted.
//
// The everyday work uses the tools of the machine; the Rust of the user who starts the
// tests is lent. Work whose tools are missing is named, and does not count as failed.
//
// OHGW_TEST_SANDBOX_LEVEL=reduced runs all of it in the other level.
package sandbox
