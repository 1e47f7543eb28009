package publish

import (
	"reflect"
	"testing"

	"github.com/detent-ml/detent/cli/internal/exit"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  []Port // nil: an error
	}{
		{[]string{"8080"}, []Port{{8080, 8080}}},
		{[]string{"9000:8080", "0:8080", "0:9"}, []Port{{9000, 8080}, {0, 8080}, {0, 9}}},
		{[]string{"0"}, nil}, {[]string{"80:0"}, nil}, {[]string{""}, nil}, {[]string{":80"}, nil}, {[]string{"1:2:3"}, nil}, {[]string{"65536"}, nil},
		{[]string{"-1"}, nil}, {[]string{"80", "80:90"}, nil},
	} {
		got, err := Parse(c.words)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.want != nil) || err != nil && exit.Code(err) != exit.Usage {
			t.Errorf("%v: %v, %v", c.words, got, err)
		}
	}
}
