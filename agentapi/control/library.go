package control

import (
	"context"
	"errors"
	"io"
)

// Library is the conversations of a backend as they are kept: what can be said of them
// and done with them without an agent. Its methods may be called at the same time. An
// unknown id is agentapi.ErrConversationNotFound.
type Library interface {
	// Record is a conversation as it is now.
	Record(ctx context.Context, id string) (Record, error)
	// List is a page of the conversations.
	List(ctx context.Context, q ListQuery) (ListPage, error)
	// Search is a page of the log of a conversation.
	Search(ctx context.Context, id string, q EventQuery) (EventPage, error)
	// Remove deletes a conversation, interrupting its run; the workspace stays.
	Remove(ctx context.Context, id string) error
	// Export writes a conversation to w as a zip archive, without secrets: one
	// directory, named as the id in 32 hex digits, as OpenHands keeps it.
	Export(ctx context.Context, id string, w io.Writer) error
	// Import makes a conversation of such an archive and gives its id. An id that is
	// there is ErrTaken, another archive ErrArchive; agentapi.ErrUnsupported where the
	// backend cannot.
	Import(ctx context.Context, from Archive) (id string, err error)
}

// ErrArchive says that a file is not the archive of a conversation.
var ErrArchive = errors.New("not the archive of a conversation")

// Archive is a conversation in a zip file.
type Archive struct {
	File io.ReaderAt
	Size int64 // in bytes
	// Workspace is the directory that the conversation works in from now on; "" is
	// the one that it had.
	Workspace string
}
