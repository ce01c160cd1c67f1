package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/internal/uuid"
)

// packTime is how long an agent-server may pack a workspace.
const packTime = 10 * time.Minute

// packed makes the archive of a directory on an agent-server before 1.30.0, which
// cannot make one: tar packs it into a file there, which is removed at the end of the
// download.
func (c *Client) packed(ctx context.Context, conv Conversation, dir string) (*transport.Body, error) {
	file := "/tmp/ohgw-" + transport.Hex(uuid.New()) + ".tar.gz"
	agent := c.agent(conv)
	code, err := agent.Execute(ctx, "tar -czf "+file+" -C "+shellword.Quoted(dir)+" .", packTime)
	remove := func() error {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		_, err := agent.Execute(removing, "rm -f "+file, cleanUp)
		return err
	}
	// 1 means that a file changed while it was packed.
	if err == nil && code != 0 && code != 1 {
		err = fmt.Errorf("%w: tar ended with exit code %d", ErrRefused, code)
	}
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	body, err := agent.File(ctx, file)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	body.ReadCloser = &removing{ReadCloser: body.ReadCloser, remove: remove}
	return body, nil
}

// removing removes a file when it is closed.
type removing struct {
	io.ReadCloser

	remove func() error
}

// Close ends the transfer and removes the file.
func (r *removing) Close() error { return errors.Join(r.ReadCloser.Close(), r.remove()) }
