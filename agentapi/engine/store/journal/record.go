package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/uuid"
)

// A record is its length and a checksum, and then the names of the conversation and of the
// event, each with a line end, and the event. A record without an event says that a
// new conversation begins.
const headSize = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode adds the record to data.
func (r Record) encode(data []byte) []byte {
	at := len(data)
	data = append(data, make([]byte, headSize)...)
	data = append(data, r.Conversation+"\n"+r.Event+"\n"...)
	data = append(data, r.Data...)
	body := data[at+headSize:]
	binary.LittleEndian.PutUint32(data[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(data[at+4:], crc32.Checksum(body, castagnoli))
	return data
}

// next is the first record of data and what follows it; false: data ends, or its rest was not
// written whole. The data of the record is a part of data.
func next(data []byte) (r Record, rest []byte, ok bool) {
	if len(data) < headSize {
		return r, nil, false
	}
	n, sum := uint64(binary.LittleEndian.Uint32(data)), binary.LittleEndian.Uint32(data[4:])
	data = data[headSize:]
	if n > uint64(len(data)) || crc32.Checksum(data[:n], castagnoli) != sum {
		return r, nil, false
	}
	conversation, body, one := bytes.Cut(data[:n], []byte{'\n'})
	event, body, two := bytes.Cut(body, []byte{'\n'})
	r = Record{Conversation: string(conversation), Event: string(event), Data: body}
	return r, data[n:], one && two && r.local()
}

// local reports whether the names are those of files below a directory.
func (r Record) local() bool {
	return filepath.IsLocal(filepath.FromSlash(r.Conversation)) && (r.Event == "" || filepath.Base(r.Event) == r.Event && filepath.IsLocal(r.Event))
}

// read gives the records of a journal in the order in which they were written.
func read(from io.Reader) (records []Record, err error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	for {
		r, rest, ok := next(data)
		if !ok {
			return records, nil
		}
		records, data = append(records, r), rest
	}
}

const suffix = ".log"

// name is that of a new journal: names are in the order of the times.
func name(now time.Time) string {
	return now.UTC().Format("20060102T150405.000000") + "-" + strings.ReplaceAll(uuid.New(), "-", "")[:8] + suffix
}
