package pg

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// text writes a parameter as Postgres reads it; nil is NULL.
func text(arg any) []byte {
	switch v := arg.(type) {
	case nil:
		return nil
	case []byte:
		if v == nil {
			return nil
		}
		return append([]byte(`\x`), hex.AppendEncode(nil, v)...)
	case string:
		return []byte(v)
	case time.Duration:
		return []byte(strconv.FormatFloat(v.Seconds(), 'f', 6, 64))
	default:
		return fmt.Append(nil, v)
	}
}

// optional is a key, or NULL for none.
func optional(key []byte) any {
	if len(key) == 0 {
		return nil
	}
	return key
}

// array writes a list as Postgres reads it.
func array[T any](list []T) string {
	items := make([]string, 0, len(list))
	for _, item := range list {
		items = append(items, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(fmt.Sprint(item))+`"`)
	}
	return "{" + strings.Join(items, ",") + "}"
}

// row is the columns of a row as text; nil is NULL.
type row [][]byte

func (r row) text(i int) string { return string(r[i]) }
func (r row) isNull(i int) bool { return r[i] == nil }
func (r row) isTrue(i int) bool { return string(r[i]) == "t" }

func (r row) number(i int) int64 {
	n, _ := strconv.ParseInt(string(r[i]), 10, 64) // the column is a number
	return n
}

func (r row) float(i int) float64 {
	f, _ := strconv.ParseFloat(string(r[i]), 64) // the column is a number
	return f
}

func (r row) bytes(i int) []byte {
	if r[i] == nil {
		return nil
	}
	data, _ := hex.DecodeString(strings.TrimPrefix(string(r[i]), `\x`)) // the column is bytea
	return data
}

// moment reads a column that is extract(epoch from …): seconds.
func (r row) moment(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return time.UnixMicro(int64(r.float(i) * 1e6))
}
