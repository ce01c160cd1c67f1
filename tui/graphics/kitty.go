package graphics

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	protocol "github.com/charmbracelet/x/ansi/kitty"
)

// drawnID is the number of the picture that Draw shows; that of an upload is larger.
const drawnID = 4242

// kitty writes a picture in the pieces that the protocol asks for.
func kitty(data []byte, options ...string) string {
	rest := base64.StdEncoding.EncodeToString(data)
	options = append([]string{"f=100"}, options...)
	var b strings.Builder
	for {
		piece := rest[:min(len(rest), protocol.MaxChunkSize)]
		rest = rest[len(piece):]
		more := "m=0"
		if rest != "" {
			more = "m=1"
		}
		b.WriteString(ansi.KittyGraphics([]byte(piece), append(options, more)...))
		if rest == "" {
			return b.String()
		}
		options = []string{"q=2"}
	}
}

// Upload returns what gives the picture to a kitty without showing it, and the lines that show
// it wherever they stand: placeholders in the colour that is the number of the picture.
func (p *Picture) Upload(cols, rows int) (sequence string, lines []string, err error) {
	c, r := p.Fit(cols, rows)
	data, err := p.png()
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(data)
	id := [3]byte{sum[0] | 0x80, sum[1], sum[2]} // larger than drawnID
	number := int(id[0])<<16 | int(id[1])<<8 | int(id[2])
	sequence = kitty(data, "a=T", "U=1", "q=2", "i="+strconv.Itoa(number), "c="+strconv.Itoa(c), "r="+strconv.Itoa(r))
	for y := range r {
		var b strings.Builder
		fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm", id[0], id[1], id[2])
		for x := range c {
			b.WriteRune(protocol.Placeholder)
			b.WriteRune(protocol.Diacritic(y))
			b.WriteRune(protocol.Diacritic(x))
		}
		b.WriteString("\x1b[39m")
		lines = append(lines, b.String())
	}
	return sequence, lines, nil
}
