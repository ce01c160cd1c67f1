package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// set returns the setting in c the value that texts say: one text, or any number
// for a list. The error tells what a text should look like.
func (f Field) set(c *Config, texts []string) error {
	if list, ok := f.at(c).(*[]string); ok {
		*list = nil
		for _, s := range texts {
			normal, err := f.normal(s)
			if err != nil {
				return err
			}
			if f.lone && (normal == "" || slices.Contains(*list, normal)) {
				continue
			}
			*list = append(*list, normal)
		}
		return nil
	}
	s, err := f.normal(texts[len(texts)-1])
	if err != nil {
		return err
	}
	return f.parse(f.at(c), s)
}

// parse gives a setting that is not a list the value that a text says.
func (f Field) parse(at any, s string) (err error) {
	switch p := at.(type) {
	case *string:
		*p = s
	case *bool:
		*p, err = strconv.ParseBool(s)
		if err != nil {
			return errors.New("use true or false")
		}
	case *int:
		*p, err = strconv.Atoi(s)
		if err != nil || *p < f.min {
			return fmt.Errorf("use a whole number of %d or more", f.min)
		}
	case *Size:
		*p, err = parseSize(s)
		if err != nil || *p < Size(f.min) {
			return errors.New("use a size such as 512KiB or 32MiB")
		}
	case *time.Duration:
		*p, err = time.ParseDuration(s)
		if err != nil || *p < 0 {
			return errors.New("use a duration such as 0, 90s or 15m")
		}
	default:
		panic(fmt.Sprintf("config: field %s is a %T", f.Key, p))
	}
	return nil
}

// normal checks one text and gives its normal form.
func (f Field) normal(s string) (string, error) {
	if f.check != nil {
		return f.check(s)
	}
	if f.Choices != nil && !slices.Contains(f.Choices, s) {
		return "", fmt.Errorf("use %s", oneOf(f.Choices))
	}
	return s, nil
}

// texts converts a value of the config file for set.
func (f Field) texts(v any) ([]string, error) {
	switch f.at(&Config{}).(type) {
	case *bool:
		if b, ok := v.(bool); ok {
			return []string{strconv.FormatBool(b)}, nil
		}
		return nil, errors.New("use true or false, without quotes")
	case *int:
		if n, ok := v.(int64); ok {
			return []string{strconv.FormatInt(n, 10)}, nil
		}
		return nil, errors.New("use a whole number, without quotes")
	case *[]string:
		if s, isText := v.(string); isText && f.lone {
			return []string{s}, nil
		}
		return listTexts(v)
	}
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case int64:
		if _, isText := f.at(&Config{}).(*string); !isText {
			return []string{strconv.FormatInt(v, 10)}, nil
		}
	}
	return nil, errors.New("use a string in quotes")
}

func listTexts(v any) ([]string, error) {
	var texts []string
	list, ok := v.([]any)
	for _, item := range list {
		s, isText := item.(string)
		ok = ok && isText
		texts = append(texts, s)
	}
	if !ok {
		return nil, errors.New(`use a list of strings, such as ["a", "b"]`)
	}
	return texts, nil
}

// text writes a value as set would read it.
func text(p any) string {
	switch p := p.(type) {
	case *string:
		return *p
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *Size:
		return p.String()
	case *time.Duration:
		return durationText(*p)
	case *[]string:
		return strings.Join(*p, ",")
	}
	panic(fmt.Sprintf("config: a field is a %T", p))
}

// durationText is d without the zero parts that Duration.String ends with.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "0s" {
		return "0"
	}
	return s
}

// Size is a number of bytes.
type Size int64

// units are the units of a Size, the largest first.
func units() []struct {
	name  string
	bytes Size
} {
	return []struct {
		name  string
		bytes Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// String is the size in the largest unit that needs no fraction.
func (s Size) String() string {
	for _, u := range units() {
		if s >= u.bytes && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// parseSize reads a number of bytes, with or without a unit.
func parseSize(s string) (Size, error) {
	unit := Size(1)
	for _, u := range units() {
		if number, found := strings.CutSuffix(s, u.name); found {
			s, unit = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0, err
	}
	if n < 0 || Size(n) > maxSize/unit {
		return 0, strconv.ErrRange
	}
	return Size(n) * unit, nil
}

const maxSize = Size(1) << 40

func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
