package boxfiles

import (
	"errors"
	"io"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// openFiles are the files of any size in the program inside, by their numbers.
type openFiles map[uint64]openFile

// openFile is read or written.
type openFile struct {
	read  sandbox.Opened
	write sandbox.Writing
}

func (f openFile) close() error {
	if f.read != nil {
		return f.read.Close()
	}
	return f.write.Abort()
}

// close closes all; what was not committed is gone.
func (o openFiles) close() {
	for _, f := range o {
		_ = f.close() // No caller is left to report an error to.
	}
}

var errNotOpen = errors.New("the file is not open in this way")

// do does what is asked for about a file of any size.
func (o openFiles) do(files sandbox.Files, asked request, data []byte) (said answer, content []byte, err error) {
	f, known := o[asked.File]
	streams := files.(sandbox.Streams) // ohgw's own
	switch {
	case asked.Op == opOpenFile || asked.Op == opPut:
		if known || len(o) >= maxOpen {
			return said, nil, errors.New("too many files are open")
		}
		said, err = o.open(streams, asked)
	case asked.Op == opPiece && f.read != nil:
		content, err = piece(f.read, asked)
	case asked.Op == opWrite && f.write != nil:
		_, err = f.write.Write(data)
	case asked.Op == opCommit && f.write != nil:
		delete(o, asked.File)
		err = f.write.Commit()
	case asked.Op == opClose && known:
		delete(o, asked.File)
		err = f.close()
	default:
		err = errNotOpen
	}
	return said, content, err
}

func (o openFiles) open(files sandbox.Streams, asked request) (said answer, err error) {
	var f openFile
	if asked.Op == opPut {
		f.write, err = files.Put(string(asked.Path))
	} else {
		read, info, openErr := files.Open(string(asked.Path))
		if err = openErr; err == nil {
			f.read, said.Info = read, attributesOf(info)
		}
	}
	if err == nil {
		o[asked.File] = f
	}
	return said, err
}

// piece is a part of a file; less than was asked for at its end.
func piece(file sandbox.Opened, asked request) ([]byte, error) {
	if asked.Limit < 0 || asked.Limit > maxPiece || asked.Offset < 0 {
		return nil, errors.New("a piece that cannot be")
	}
	data := make([]byte, asked.Limit)
	n, err := file.ReadAt(data, asked.Offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}
