package llm

import (
	"crypto/sha256"
	"strconv"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/llm/imagefit"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/picture"
)

// The sides of images, in pixels, that Anthropic's models take: fewer where a
// request has many images.
const (
	largeSide  = 8000
	smallSide  = 2000
	manyImages = 20
)

// relabelled gives pictures of the history the media type of their bytes: it may
// be older than the check of what comes in, or OpenHands' own.
func relabelled(urls []string) []string {
	out := make([]string, len(urls))
	for i, url := range urls {
		out[i] = picture.Relabel(url)
	}
	return out
}

// fitImages scales images down that the model would refuse, in messages that
// are the call's own.
func (m *model) fitImages(messages []event.LLMMessage) {
	if !m.features.claude || !m.features.vision {
		return
	}
	n := 0
	for _, msg := range messages {
		for _, c := range msg.Content {
			n += len(c.ImageURLs)
		}
	}
	side := largeSide
	if n > manyImages {
		side = smallSide
	}
	for _, msg := range messages {
		for i, c := range msg.Content {
			urls := make([]string, len(c.ImageURLs))
			for j, url := range c.ImageURLs {
				urls[j] = m.fitted.fit(url, side)
			}
			if len(urls) > 0 {
				msg.Content[i].ImageURLs = urls
			}
		}
	}
}

// imageCache remembers what images became: a history is sent again with every
// call. The zero imageCache is empty.
type imageCache struct {
	mu   sync.Mutex
	done map[[sha256.Size]byte]string // "" where the image stays as it is
}

// maxCached bounds the cache. Beyond it, it begins again.
const maxCached = 64

func (c *imageCache) fit(url string, side int) string {
	key := sha256.Sum256([]byte(strconv.Itoa(side) + " " + url))
	c.mu.Lock()
	fitted, known := c.done[key]
	c.mu.Unlock()
	if !known {
		fitted = imagefit.Fit(url, side)
		if fitted == url {
			fitted = ""
		}
		c.mu.Lock()
		if c.done == nil || len(c.done) >= maxCached {
			c.done = make(map[[sha256.Size]byte]string)
		}
		c.done[key] = fitted
		c.mu.Unlock()
	}
	if fitted == "" {
		return url
	}
	return fitted
}
