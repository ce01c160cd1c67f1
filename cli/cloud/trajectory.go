package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/accounts"
)

// trajectoryOptions is what the command takes.
type trajectoryOptions struct {
	downloadOptions

	Format string
}

// The formats of a trajectory.
const (
	formatJSON  = "json"
	formatLines = "jsonl"
	formatText  = "md"
	formatZip   = "zip"
)

func formats() []string { return []string{formatJSON, formatLines, formatText, formatZip} }

func newTrajectory(o *options) *cobra.Command {
	opts := trajectoryOptions{downloadOptions: downloadOptions{oneOptions: oneOptions{options: o}}}
	cmd := &cobra.Command{
		Use:   "trajectory ID",
		Short: "Download the events of a conversation",
		Long: kit.Long(`
Downloads the events of a conversation on a server to trajectory-ID.json, or to
--output. The conversation may sleep or be archived; the server learns of events
up to 30 seconds late. The formats:

  json   one document, as V0 has it: {"trajectory": [EVENT, …]}
  jsonl  one event a line
  md     what was said and done, for people
  zip    the archive of V1, which "ohgw conversations import" takes

Without --format it is that of the name of --output, else json. A trajectory has
what was said and done: treat it as confidential. With --json the output has
file and bytes.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw cloud trajectory 7f1c", "ohgw cloud trajectory 7f1c --format md --output -"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: kit.CompleteOn(o.Account),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runTrajectory(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&opts.Output, "output", "o", "", "where to write: a `PATH`, or - for stdout")
	f.BoolVar(&opts.Force, "force", false, "replace a file that is there")
	f.StringVar(&opts.Format, "format", "", "`json|jsonl|md|zip`")
	kit.Complete(cmd, "format", formats()...)
	return cmd
}

// format is the format that the command line means.
func (o *trajectoryOptions) format() (string, error) {
	if o.Format == "" {
		if end := strings.TrimPrefix(filepath.Ext(o.Output), "."); slices.Contains(formats(), end) {
			return end, nil
		}
		return formatJSON, nil
	}
	if slices.Contains(formats(), o.Format) {
		return o.Format, nil
	}
	return "", fault.NewUsage(fmt.Sprintf("--format cannot be %q", o.Format), "use one of: "+strings.Join(formats(), ", "))
}

// runTrajectory runs the command.
func runTrajectory(ctx context.Context, o *trajectoryOptions) error {
	format, err := o.format()
	if err != nil {
		return err
	}
	acc, conv, err := o.Find(ctx, o.ID)
	if err != nil {
		return err
	}
	defer acc.Close()
	if format == formatZip && conv.Version == account.V0 {
		return fault.NewUsage("a V0 conversation has no zip archive", "use --format json")
	}
	if o.Output != "-" { // Before much is downloaded for nothing.
		path, err := o.outputFile(trajectoryName(conv, format))
		if err == nil && !o.Force {
			if _, statErr := os.Lstat(path); statErr == nil {
				err = &fault.Error{Msg: "the file is there already: " + path, Hint: "choose another place with --output, or replace it with --force", Code: fault.Conflict}
			}
		}
		if err != nil {
			return err
		}
	}
	got, err := acc.Trajectory(ctx, conv.ID)
	if err != nil {
		return accounts.Fault(err, acc.Server)
	}
	name := trajectoryName(conv, format)
	if format == formatZip || format == formatJSON && conv.Version == account.V0 {
		return o.save(acc, got, name)
	}
	spooled, err := o.spool(acc, got)
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(spooled.Close(), os.Remove(spooled.Name())) }()
	reader, writer := io.Pipe()
	var converting sync.WaitGroup
	converting.Go(func() { writer.CloseWithError(convert(writer, spooled, conv, format)) })
	defer converting.Wait()
	defer func() { _ = reader.Close() }() // Then the conversion ends, too.
	return o.save(acc, &account.Download{ReadCloser: reader, Size: -1}, name)
}

func trajectoryName(conv account.Conversation, format string) string {
	return "trajectory-" + conv.Short() + "." + format
}

// maxSpooled bounds the download of a trajectory that is converted.
const maxSpooled = 2 << 30

// spool downloads a trajectory into a temporary file: an archive is read from its end.
func (o *trajectoryOptions) spool(acc accounts.Account, got *account.Download) (f *os.File, err error) {
	defer func() { err = errors.Join(err, got.Close()) }()
	f, err = os.CreateTemp("", "ohgw-trajectory-")
	if err != nil {
		return nil, fault.New("a temporary file cannot be made", "free disk space, or set TMPDIR to another directory", err)
	}
	in := &transfer{App: o.App, name: "trajectory", size: got.Size, in: got}
	n, err := io.Copy(f, io.LimitReader(in, maxSpooled+1))
	in.end()
	switch {
	case err == nil && n > maxSpooled:
		err = fault.New("the trajectory is larger than "+bytesText(maxSpooled), "download it as it is: --format zip", nil)
	case err != nil:
		err = transferFault(err, acc)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
}
