package conversations

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ohgw/ohgw/daemon/openai"
)

// taken reports whether another item that a client has added has the id of item:
// some clients give all their items the same one.
func (a *adder) taken(item openai.ClientItem) bool {
	old := a.ofClient(item.ID)
	return old != nil && item.Kind != openai.KindReference && !sameItem(old, item.Wire(item.ID))
}

// derived is the id of an item whose own one another item has. It is the same
// when the item comes again.
func derived(item openai.ClientItem) string {
	sum := sha256.Sum256([]byte(withoutStatus(item.Wire(item.ID))))
	return openai.ClientItemPrefix(item.Kind) + hex.EncodeToString(sum[:16])
}

// sameItem reports whether two items with one id say the same. How far an item was
// done when it was sent makes no difference.
func sameItem(a, b json.RawMessage) bool { return withoutStatus(a) == withoutStatus(b) }

// withoutStatus is an item with its members in the order of their names.
func withoutStatus(item json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(item, &members) != nil {
		return string(item)
	}
	delete(members, "status")
	plain, err := json.Marshal(members)
	if err != nil { // cannot be: it was JSON
		return string(item)
	}
	return string(plain)
}

// ofClient is the item with an id that a client has added; nil: none.
func (a *adder) ofClient(id string) json.RawMessage {
	if id == "" {
		return nil
	}
	if old := a.rec.Item(id); old != nil {
		return old.Data
	}
	for _, added := range a.change.Add {
		if added.ID == id {
			return added.Data
		}
	}
	return nil
}
