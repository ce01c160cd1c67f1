// Package message reads the messages that clients of OpenHands' own API send.
package message

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/picture"
)

// Read reads the message of a request, whose content is a list. What is wrong with it
// is noted in the object.
func Read(o *pydantic.Object) control.Message {
	user(o, o.Choice("role", "user", pydantic.Literal, roles()...))
	return control.Message{Content: content(o)}
}

// ReadFrame reads the message of a WebSocket, which must have a role, and whose content
// may be a string.
func ReadFrame(frame []byte) (control.Message, error) {
	o, err := pydantic.NewObject(frame)
	if err != nil {
		return control.Message{}, err
	}
	if o.Need("role") {
		user(o, o.Choice("role", "", pydantic.Literal, roles()...))
	}
	var m control.Message
	if text, ok := plain(o.Raw("content")); ok {
		m.Content = []event.Content{event.Text(text)}
	} else {
		m.Content = content(o)
	}
	return m, o.Err()
}

func roles() []string { return []string{"user", "system", "assistant", "tool"} }

// user refuses a role whose messages a client cannot send.
func user(o *pydantic.Object, role string) {
	if role != "user" && role != "" {
		o.Value("role", "Only user messages are allowed to be sent to the agent")
	}
}

func plain(raw json.RawMessage) (text string, ok bool) {
	return text, len(raw) > 0 && json.Unmarshal(raw, &text) == nil
}

func content(o *pydantic.Object) []event.Content {
	list := []event.Content{}
	for _, item := range o.List("content") {
		if c, ok := part(item); ok {
			list = append(list, c)
		}
	}
	return list
}

// part reads a text or an image. Where it is neither, what is wrong is said for both,
// as pydantic does.
func part(item pydantic.Item) (event.Content, bool) {
	asText, asImage := item.As("TextContent"), item.As("ImageContent")
	c := text(asText)
	if asText.Err() == nil {
		return c, true
	}
	c = image(asImage)
	if asImage.Err() == nil {
		return c, true
	}
	item.Neither(asText, asImage)
	return c, false
}

func text(o *pydantic.Object) event.Content {
	if o.Err() != nil {
		return event.Content{} // no object
	}
	o.Choice("type", "text", pydantic.Literal, "text")
	o.Need("text")
	c := event.Text(o.String("text", ""))
	c.CachePrompt = o.Bool("cache_prompt", false)
	o.Only("type", "text", "cache_prompt", "enable_truncation")
	return c
}

func image(o *pydantic.Object) event.Content {
	if o.Err() != nil {
		return event.Content{} // no object
	}
	o.Choice("type", "image", pydantic.Literal, "image")
	var urls []string
	if o.Need("image_urls") {
		if raw := o.Raw("image_urls"); raw == nil || json.Unmarshal(raw, &urls) != nil {
			o.Wrong("image_urls", pydantic.NoList())
		}
	}
	for i, url := range urls {
		read, err := imageURL(url)
		if err != nil {
			o.Value("image_urls", fmt.Sprintf("image_urls[%d] %s", i, err))
		}
		urls[i] = read
	}
	c := event.Images(urls...)
	c.CachePrompt = o.Bool("cache_prompt", false)
	return c
}

// imageURL takes a data URL of a picture, in its usual form, and any URL that the
// model's provider may fetch.
func imageURL(url string) (string, error) {
	for _, scheme := range []string{"http://", "https://"} {
		if len(url) > len(scheme) && strings.EqualFold(url[:len(scheme)], scheme) {
			return url, nil
		}
	}
	return picture.DataURL(url)
}
