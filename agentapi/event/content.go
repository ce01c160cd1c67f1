package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// The types a [Content] item can have.
const (
	TypeText  = "text"
	TypeImage = "image"
)

// Content is one item of a message: a text, or images.
type Content struct {
	CachePrompt bool
	// Type is TypeText or TypeImage.
	Type string
	Text string
	// ImageURLs are data URLs, or http(s) URLs that the model's provider fetches.
	ImageURLs []string
}

// Text makes a text item.
func Text(s string) Content { return Content{Type: TypeText, Text: s} }

// Images makes an image item.
func Images(urls ...string) Content { return Content{Type: TypeImage, ImageURLs: urls} }

type contentJSON struct {
	CachePrompt bool     `json:"cache_prompt"`
	Type        string   `json:"type"`
	Text        *string  `json:"text,omitempty"`
	ImageURLs   []string `json:"image_urls,omitempty"`
}

// MarshalJSON writes only the fields of the item's type: OpenHands refuses others.
func (c Content) MarshalJSON() ([]byte, error) {
	j := contentJSON{CachePrompt: c.CachePrompt, Type: c.Type, ImageURLs: c.ImageURLs}
	if c.Type == TypeText {
		j.Text = &c.Text
	}
	return plainjson.Marshal(j)
}

// encode appends the item. [Content.MarshalJSON] would have its text copied twice, and a
// system prompt is long.
func (c Content) encode(b *bytes.Buffer) error {
	if c.Type != TypeText || len(c.ImageURLs) > 0 {
		return plainjson.Append(b, c)
	}
	b.WriteString(`{"cache_prompt":`)
	b.WriteString(strconv.FormatBool(c.CachePrompt))
	b.WriteString(`,"type":"text","text":`)
	if err := plainjson.Append(b, c.Text); err != nil {
		return err
	}
	b.WriteByte('}')
	return nil
}

// UnmarshalJSON reads an item of any type.
func (c *Content) UnmarshalJSON(data []byte) error {
	var j contentJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("decode content: %w", err)
	}
	*c = Content{CachePrompt: j.CachePrompt, Type: j.Type, ImageURLs: j.ImageURLs}
	if j.Text != nil {
		c.Text = *j.Text
	}
	return nil
}

// PlainText is the text of the items without separator, as OpenHands joins
// them for a final answer; an image item reads "[Image: N URLs]".
func PlainText(items []Content) string {
	var b strings.Builder
	for _, c := range items {
		switch c.Type {
		case TypeText:
			b.WriteString(c.Text)
		case TypeImage:
			fmt.Fprintf(&b, "[Image: %d URLs]", len(c.ImageURLs))
		}
	}
	return b.String()
}

// LLMMessage is a message in the form the model sees it.
type LLMMessage struct {
	// Role is user, system, assistant or tool.
	Role                   string            `json:"role"`
	Content                []Content         `json:"content"`
	ToolCalls              []ToolCall        `json:"tool_calls,omitempty"`
	ToolCallID             string            `json:"tool_call_id,omitempty"`
	Name                   string            `json:"name,omitempty"`
	ReasoningContent       string            `json:"reasoning_content,omitempty"`
	ThinkingBlocks         []json.RawMessage `json:"thinking_blocks"`
	ResponsesReasoningItem json.RawMessage   `json:"responses_reasoning_item,omitempty"`
}

// ToolCall is a call as the model wrote it.
type ToolCall struct {
	ID              string `json:"id"`
	ResponsesItemID string `json:"responses_item_id,omitempty"`
	Name            string `json:"name"`
	// Arguments is the raw JSON text of the model; it may be malformed.
	Arguments string `json:"arguments"`
	// Origin is "completion" or "responses".
	Origin string `json:"origin,omitempty"`
}
