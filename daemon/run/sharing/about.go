// Package sharing is what the runs of a gateway and a ledger that several gateways share say
// to each other: what is noted of a request, calls that a ledger may miss, and how the log of
// a run is shown that another gateway has begun. It decides nothing.
package sharing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/uuid"
)

// maxRequest is the size of a message that another gateway could send in place of this
// one, in bytes.
const maxRequest = 1 << 20

// About is what every gateway knows of a request.
type About struct {
	Answer  string        `json:"answer"`
	Created time.Time     `json:"created"`
	Profile string        `json:"profile,omitempty"`
	Who     string        `json:"who,omitempty"`
	Detach  bool          `json:"detach,omitempty"`
	OneShot bool          `json:"one_shot,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	// Message is what is sent, once that is known. It is nil if it is too long, or if the turn
	// has none.
	Message *Message `json:"message,omitempty"`
	// Decided says that the turn answers what waited for a confirmation.
	Decided bool `json:"decided,omitempty"`
}

// Message is a message as the ledger keeps it.
type Message struct {
	Text   string   `json:"text"`
	Images []string `json:"images,omitempty"`
}

// Whole returns the message as it is sent.
func (m Message) Whole() agentapi.Message { return agentapi.Message{Text: m.Text, Images: m.Images} }

// Read returns what is known of a request. What cannot be read says nothing.
func Read(data []byte) (a About) {
	if json.Unmarshal(data, &a) != nil {
		return About{}
	}
	return a
}

// Bytes returns a for the ledger, without a message that is too long.
func (a About) Bytes() ([]byte, error) {
	data, err := plainjson.Marshal(a)
	if err == nil && len(data) > maxRequest {
		a.Message = nil
		data, err = plainjson.Marshal(a)
	}
	return data, err
}

// Conversation returns the id of the conversation that a key has for itself: one that a
// ledger has forgotten is found on its server.
func Conversation(key string) string {
	sum := sha256.Sum256([]byte("one-shot\x00" + key))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // a UUID of version 4
	id, err := uuid.Parse(hex.EncodeToString(sum[:16]))
	if err != nil { // it has the digits of one
		return uuid.New()
	}
	return id
}
