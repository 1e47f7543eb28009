package v1

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Marshal encodes a message: lowerCamelCase, zero values present, int64 as decimal strings,
// empty lists and maps instead of null, null for unset pointers, times as RFC 3339 in UTC, NaN
// and infinities as the strings that Determined's clients use.
func Marshal(v any) ([]byte, error) {
	return Append(nil, v)
}

// Append appends the encoded message to dst, for streams.
func Append(dst []byte, v any) ([]byte, error) {
	return encode(dst, reflect.ValueOf(v))
}

func encode(dst []byte, v reflect.Value) ([]byte, error) {
	if !v.IsValid() {
		return append(dst, "null"...), nil
	}
	switch v.Type() {
	case timeType:
		return appendTime(dst, v.Interface().(time.Time)), nil
	case structType:
		return appendStruct(dst, v.Bytes())
	case bytesType:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes())
		return append(dst, '"'), nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return encode(dst, v.Elem())
	case reflect.Struct:
		return encodeMessage(dst, v)
	case reflect.Slice, reflect.Array:
		return encodeList(dst, v)
	case reflect.Map:
		return encodeMap(dst, v)
	case reflect.String:
		return appendString(dst, v.String())
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int64:
		if v.Type() == bareType {
			return strconv.AppendInt(dst, v.Int(), 10), nil
		}
		dst = append(dst, '"')
		dst = strconv.AppendInt(dst, v.Int(), 10)
		return append(dst, '"'), nil
	case reflect.Int, reflect.Int32, reflect.Int16, reflect.Int8:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case reflect.Float64, reflect.Float32:
		return appendFloat(dst, v.Float()), nil
	}
	return nil, fmt.Errorf("v1: cannot encode %s", v.Type())
}

func encodeMessage(dst []byte, v reflect.Value) ([]byte, error) {
	p := planOf(v.Type())
	dst = append(dst, '{')
	first := true
	var err error
	for _, f := range p.fields {
		fv := v.Field(f.index)
		if f.omitEmpty && isEmpty(fv) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"')
		dst = append(dst, f.name...)
		dst = append(dst, '"', ':')
		if f.orNull && isEmpty(fv) {
			dst = append(dst, "null"...)
			continue
		}
		if dst, err = encode(dst, fv); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return v.IsNil()
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func encodeList(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = encode(dst, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func encodeMap(dst []byte, v reflect.Value) ([]byte, error) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	dst = append(dst, '{')
	var err error
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendString(dst, k.String()); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = encode(dst, v.MapIndex(k)); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	b, err := json.Marshal(s)
	return append(dst, b...), err
}

func appendStruct(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, '{', '}'), nil
	}
	return append(dst, raw...), nil
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.999999Z07:00")
	return append(dst, '"')
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	b, err := json.Marshal(f)
	if err != nil {
		panic("v1: a finite float did not encode: " + err.Error())
	}
	return append(dst, b...)
}
