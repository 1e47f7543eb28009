package v1

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/spelling"
)

// A field is a field of a message: its index and its names.
type field struct {
	name      string // lowerCamelCase, as written
	index     int
	omitEmpty bool // omitted if it is not set
	orNull    bool // null if it is not set: a Struct, which otherwise is {}
}

// A plan is what the codec needs to know about a struct type.
type plan struct {
	fields []field
	byName map[string]int // camelCase and snake_case names → index in fields
}

// plans is a cache of immutable values computed from types alone.
var plans sync.Map // reflect.Type → *plan

var (
	timeType   = reflect.TypeFor[time.Time]()
	bareType   = reflect.TypeFor[Bare]()
	structType = reflect.TypeFor[Struct]()
	bytesType  = reflect.TypeFor[[]byte]()
)

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: map[string]int{}}
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("json")
		if !ok {
			panic("v1: " + t.String() + "." + t.Field(i).Name + " has no json tag")
		}
		name, opts, _ := strings.Cut(tag, ",")
		n := len(p.fields)
		p.fields = append(p.fields, field{name: name, index: i, omitEmpty: opts == "omitempty", orNull: opts == "null"})
		p.byName[name] = n
		p.byName[spelling.Snake(name)] = n
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*plan)
}
