package boxfiles

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// Main is the program inside. It does what its input asks for, until that ends.
func Main() int {
	_ = unix.Close(3)                                  // ownProgram
	if err := serve(os.Stdin, os.Stdout); err != nil { //nolint:forbidigo // this is a program of its own
		return 1
	}
	return 0
}

// serve answers requests one after the other.
func serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	var files sandbox.Files
	opened := openFiles{}
	defer opened.close()
	for {
		var asked request
		err := receive(r, &asked)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := receiveData(r, asked.Size, maxData)
		if err != nil {
			return err
		}
		var said answer
		var content []byte
		switch {
		case asked.Op == opOpen:
			files, err = open(asked)
		case files == nil:
			return errors.New("the first request does not open files")
		case asked.File != 0:
			said, content, err = opened.do(files, asked, data)
		default:
			said, content, err = do(files, asked, data)
		}
		if err != nil {
			said, content = answer{Failure: failureOf(err)}, nil
		}
		said.Size = int64(len(content))
		if err := send(out, said, content); err != nil {
			return err
		}
	}
}

func open(asked request) (sandbox.Files, error) {
	if asked.Confined {
		return sandbox.Confined(string(asked.Path))
	}
	return sandbox.Unconfined(), nil
}

// do does what is asked for.
func do(files sandbox.Files, asked request, data []byte) (said answer, content []byte, err error) {
	at := string(asked.Path)
	var info fs.FileInfo
	switch asked.Op {
	case opReal:
		var real string
		real, err = files.Real(at)
		said.Real = []byte(real)
	case opStat:
		info, err = files.Stat(at)
	case opRead:
		content, info, err = files.Read(at, asked.Limit)
	case opCreate:
		err = files.Create(at, data)
	case opReplace:
		err = replace(files, at, data, asked.Like)
	case opList:
		content, err = list(files, at)
	case opMakeDir:
		err = files.(sandbox.Streams).MakeDir(at) // ohgw's own
	case opRemove:
		err = files.(sandbox.Streams).Remove(at) // ohgw's own
	default:
		err = fmt.Errorf("there is no operation %q", asked.Op)
	}
	if err == nil && info != nil {
		said.Info = attributesOf(info)
	}
	return said, content, err
}

// replace says of a file that is protected by a mount that it is read-only: renaming
// another file over it would only say that it is busy.
func replace(files sandbox.Files, at string, data []byte, like *attributes) error {
	if like == nil {
		return errors.New("a file to replace without its attributes")
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(at, &stat); err == nil && stat.Flags&unix.ST_RDONLY != 0 {
		return &fs.PathError{Op: "replace", Path: at, Err: syscall.EROFS}
	}
	return files.Replace(at, data, like)
}

// list encodes a directory as JSON. What vanishes meanwhile is not in it.
func list(files sandbox.Files, at string) ([]byte, error) {
	entries, err := files.List(at)
	if err != nil {
		return nil, err
	}
	all := make([]*attributes, 0, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			all = append(all, attributesOf(info))
		}
	}
	data, err := json.Marshal(all)
	if err == nil && len(data) > maxList {
		return nil, fmt.Errorf("it has %d entries, which is too many to list", len(all))
	}
	return data, err
}
