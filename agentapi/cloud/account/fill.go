package account

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/uuid"
)

// fillTime is how long an agent-server may unpack an archive.
const fillTime = 30 * time.Minute

// Fill unpacks a tar.gz archive into the directory that a V1 conversation works in,
// over what is there. The archive is sent as it is read, once; it is unpacked only
// when it has arrived completely, and then removed there. The conversation must run.
func (c *Client) Fill(ctx context.Context, id string, archive io.Reader) (err error) {
	conv, err := c.running(ctx, id)
	if err != nil {
		return err
	}
	if conv.Version == V0 {
		return fmt.Errorf("%w: a V0 conversation takes no archives", ErrRefused)
	}
	rt, err := c.runtimeOf(ctx, conv)
	if err != nil {
		return err
	}
	file := "/tmp/ohgw-" + transport.Hex(uuid.New()) + ".tar.gz"
	agent := c.agent(conv)
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		if _, rest := agent.Execute(removing, "rm -f "+file, cleanUp); err == nil && rest != nil {
			c.log.WarnContext(ctx, "an archive is left in a sandbox", "conversation", conv.ID, "file", file, "err", rest)
		}
	}()
	if err := agent.Upload(ctx, file, archive); err != nil {
		return fmt.Errorf("send the files: %w", err)
	}
	dir := quote(rt.Directory)
	code, err := agent.Execute(ctx, "mkdir -p "+dir+" && tar -xzf "+file+" --no-same-owner -C "+dir, fillTime)
	if err == nil && code != 0 {
		err = fmt.Errorf("%w: tar ended with exit code %d", ErrRefused, code)
	}
	if err != nil {
		return fmt.Errorf("unpack the files: %w", err)
	}
	return nil
}
