package netpolicy

// Match is the first entry that allows a host and port, in the order the entries were
// added. A policy that allows every host has none for most of them.
func (p *Policy) Match(h Host, port uint16) (Entry, bool) {
	for _, e := range p.Entries() {
		if e.Covers(h, port) {
			return e, true
		}
	}
	return Entry{}, false
}

// Covers says whether the entry, as one of an allow list, is for a host and port.
func (e Entry) Covers(h Host, port uint16) bool {
	var one list
	if one.add(e) != nil {
		return false
	}
	_, _, found := one.find(h, port, false)
	return found
}
