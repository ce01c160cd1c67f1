// Package id makes the random ids of things that live for a while: requests,
// answers, calls, processes.
//
// Conversations have UUIDs, which OpenHands reads; they are in internal/uuid.
package id

import (
	"crypto/rand"
	"encoding/hex"
)

// New makes an id that nothing has yet: the prefix and 32 hexadecimal digits,
// such as "req_0f3c…".
func New(prefix string) string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails: the runtime ends the program first
	return prefix + hex.EncodeToString(random[:])
}
