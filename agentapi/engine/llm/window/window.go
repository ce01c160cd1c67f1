// Package window reads how many tokens of context a server gives a model: from what
// servers of local models tell about themselves, and from their refusals. It remembers
// what it was told, by server and model.
//
// It makes no request. What a server says of the model alone, such as the context that
// it was trained with, is not what the server gives it, and is not read.
package window

import (
	"sync"
	"time"
)

// Server is the program behind an address, as far as it says which.
type Server string

// The servers that are asked in their own way.
const (
	Other    Server = ""
	LlamaCpp Server = "llamacpp"
	VLLM     Server = "vllm"
	Ollama   Server = "ollama"
	LMStudio Server = "lmstudio"
)

// Key is a model at a server.
type Key struct{ URL, Model string }

// Known is what is known of a model at a server. The zero value: nothing.
type Known struct {
	Tokens int64 // of the context; 0: unknown
	Server Server
	Cold   bool // the server loads the model at its next call
	// Loading says that the server loads the model now, and answers nothing before.
	Loading bool
	// Next is when the server may be asked again.
	Next time.Time
}

// Book remembers what is known. Its methods may be called at the same time.
type Book struct {
	mu    sync.Mutex
	known map[Key]Known
}

// maxModels bounds a book: names of models come from clients, too.
const maxModels = 1024

// Look is what is known of a model.
func (b *Book) Look(k Key) Known {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[k]
}

// Told keeps the answer of a server. One that did not say a size keeps the one that a
// refusal taught.
func (b *Book) Told(k Key, told Known) {
	b.change(k, func(known Known) Known {
		if told.Tokens == 0 {
			told.Tokens = known.Tokens
		}
		if told.Server == Other {
			told.Server = known.Server
		}
		return told
	})
}

// Warm keeps that a model was called, and so is loaded.
func (b *Book) Warm(k Key) {
	b.change(k, func(known Known) Known {
		known.Cold = false
		return known
	})
}

// Refused keeps the size that a refusal named.
func (b *Book) Refused(k Key, tokens int64) {
	b.change(k, func(known Known) Known {
		known.Tokens = tokens
		return known
	})
}

func (b *Book) change(k Key, f func(Known) Known) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil || len(b.known) >= maxModels {
		b.known = make(map[Key]Known)
	}
	b.known[k] = f(b.known[k])
}
