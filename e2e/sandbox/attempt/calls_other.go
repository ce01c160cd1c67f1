//go:build linux && !amd64

package main

// machineOperations are those of one architecture.
var machineOperations = map[string]operation{}
