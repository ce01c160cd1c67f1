package view

import (
	"strconv"
	"strings"
)

// IDs are the ids of tool calls that a history has. Providers may repeat theirs
// within an answer, from answer to answer and from turn to turn: some count the
// calls of each answer from 0. With each id goes the number to try next where it
// is repeated.
type IDs map[string]int

// signed stands between the id of a call and a signature that belongs to it and
// goes back to the provider with it.
const signed = "__thought__"

// Take returns the id under which a call goes into the history: its own, or where
// that is taken the next one of the same form, since some models learn the form
// of their ids from the history. "terminal:0" becomes "terminal:1", and
// "call_x" becomes "call_x_2".
func (ids IDs) Take(id string) string {
	name, signature, isSigned := strings.Cut(id, signed)
	if name == "" {
		name = "call"
	}
	free := name
	head, number, isCounted := counted(name)
	for n := max(2, ids[name]); ids[free] > 0; n++ {
		if free = name + "_" + strconv.Itoa(n); isCounted {
			free = head + strconv.Itoa(number+n-1)
		}
		ids[name] = n + 1
	}
	ids[free] = 1
	if isSigned {
		return free + signed + signature
	}
	return free
}

// Add takes an id as it is.
func (ids IDs) Add(id string) {
	name, _, _ := strings.Cut(id, signed)
	ids[name] = max(1, ids[name])
}

// counted is an id that is a number, or ends with one behind a colon.
func counted(id string) (head string, number int, ok bool) {
	at := strings.LastIndexByte(id, ':') + 1
	number, err := strconv.Atoi(id[at:])
	if err != nil || number < 0 || strconv.Itoa(number) != id[at:] {
		return "", 0, false
	}
	return id[:at], number, true
}
