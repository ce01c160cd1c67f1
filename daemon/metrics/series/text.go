package series

import (
	"math"
	"strconv"
	"strings"
)

// ContentType is the media type of what [Set.Write] writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// append writes the metric: two lines about it, and one for each sample. A
// metric without samples is not written.
func (f Family) append(text []byte) []byte {
	if len(f.Samples) == 0 {
		return text
	}
	text = append(text, "# HELP "+f.Name+" "+escapeHelp.Replace(f.Help)+"\n"...)
	text = append(text, "# TYPE "+f.Name+" "+string(f.Kind)+"\n"...)
	for _, s := range f.Samples {
		text = append(text, f.Name+s.Suffix...)
		text = appendLabels(text, s.Labels)
		text = append(text, " "+number(s.Value)+"\n"...)
	}
	return text
}

func appendLabels(text []byte, labels []Label) []byte {
	for i, l := range labels {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		text = append(text, sep+l.Name+`="`+escapeLabel.Replace(strings.ToValidUTF8(l.Value, "\uFFFD"))+`"`...)
	}
	if len(labels) > 0 {
		text = append(text, '}')
	}
	return text
}

func number(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "+Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64) // "NaN" is written so as well
}
