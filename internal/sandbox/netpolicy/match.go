package netpolicy

// Match is the first entry that allows a host and port, in the order the entries were
// added. A policy that allows every host has none for most of them.
func (p *Policy) Match(h Host, port uint16) (Entry, bool) {
	for _, e := range p.Entries() {
		var one list
		if one.add(e) != nil {
			continue
		}
		if _, _, found := one.find(h, port, false); found {
			return e, true
		}
	}
	return Entry{}, false
}
