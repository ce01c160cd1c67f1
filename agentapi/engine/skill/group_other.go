//go:build !unix

package skill

import "os/exec"

// ownGroup is for systems that have process groups.
func ownGroup(*exec.Cmd) {}

// endGroup is likewise.
func endGroup(*exec.Cmd) {}
