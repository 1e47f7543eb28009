// Package tfevents reads the files in which TensorFlow, PyTorch and others store scalars for TensorBoard (events.out.tfevents.*): records with
// checksums (records.go), each with an event (events.go), which may have scalars in the form of TensorFlow 1 and PyTorch (simple_value) or
// of TensorFlow 2 (a tensor), or hyperparameters of TensorBoard's plugin (hparams.go). A damaged file costs no more than its size, and
// what stands before the damage is read.
package tfevents

import (
	"encoding/binary"
	"io"
	"math"
	"time"

	"github.com/detent-ml/detent/cli/internal/wire"
)

// A Scalar is one value of a tag.
type Scalar struct {
	Tag   string
	Step  int64
	Time  time.Time
	Value float64
}

// A Sink receives what a file has, in its order. Only Scalar must be set.
type Sink struct {
	// Scalar receives a value, and the place of its record in the file.
	Scalar func(at int64, s Scalar) error
	// Restarted receives the place of a record by which a writer began again at a step: what was written before of this step and later ones is void.
	Restarted func(at, step int64)
	// HParams receives the hyperparameters of a session.
	HParams func(values map[string]any)
}

// Read reads a file. It returns the place after the last complete event, also with an error.
func Read(in io.Reader, sink Sink) (end int64, err error) {
	f := &file{Sink: sink, plugins: map[string]string{}}
	return eachRecord(in, f.event)
}

// maxTags bounds what a file can make the reader remember of its tags.
const maxTags = 100_000

type file struct {
	Sink
	// plugins has the plugin of each tag: TensorFlow 2 writes it with the first value only.
	plugins map[string]string
}

// The fields of Event, SessionLog and Summary that are read, by their numbers.
const (
	eventTime, eventStep, eventSummary, eventSession = 1, 2, 5, 7
	sessionStatus, sessionStart                      = 1, 1
	summaryValue                                     = 1
	valueTag, valueSimple, valueTensor, valueMeta    = 1, 2, 8, 9
)

func (f *file) event(at int64, record []byte) error {
	var when float64
	var step int64
	var summary []byte
	restarted := false
	err := wire.Each(record, func(x wire.Field) error {
		switch x.Number {
		case eventTime:
			when = x.Float()
		case eventStep:
			step = x.Int()
		case eventSummary:
			summary = x.Text
		case eventSession:
			return wire.Each(x.Text, func(y wire.Field) error {
				restarted = restarted || y.Number == sessionStatus && y.Int() == sessionStart
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if restarted && f.Restarted != nil {
		f.Restarted(at, step)
	}
	return wire.Each(summary, func(x wire.Field) error {
		if x.Number != summaryValue {
			return nil
		}
		return f.value(at, x.Text, Scalar{Step: step, Time: timeOf(when)})
	})
}

// timeOf is a time in seconds since 1970; zero for one that no clock shows.
func timeOf(seconds float64) time.Time {
	if !(seconds > 0 && seconds < 1<<34) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// value reads one value of a summary, and gives it to the sink if it is a scalar.
func (f *file) value(at int64, message []byte, s Scalar) error {
	var simple, is bool
	var tensor []byte
	plugin, content := "", []byte(nil)
	err := wire.Each(message, func(x wire.Field) (err error) {
		switch x.Number {
		case valueTag:
			s.Tag = string(x.Text)
		case valueSimple:
			s.Value, simple = x.Float(), true
		case valueTensor:
			tensor = x.Text
		case valueMeta:
			plugin, content, err = pluginOf(x.Text)
		}
		return err
	})
	if err != nil {
		return err
	}
	if plugin != "" {
		if plugin == "hparams" && f.HParams != nil {
			if err := f.session(content); err != nil {
				return err
			}
		}
		if len(f.plugins) < maxTags {
			f.plugins[s.Tag] = plugin
		}
	}
	if is = simple; !simple && tensor != nil && f.plugins[s.Tag] == "scalars" {
		if s.Value, is, err = scalarOf(tensor); err != nil {
			return err
		}
	}
	if !is || s.Tag == "" || f.plugins[s.Tag] == "hparams" {
		return nil
	}
	return f.Scalar(at, s)
}

// pluginOf reads the name of a plugin, and what it has stored, from the metadata of a summary.
func pluginOf(metadata []byte) (name string, content []byte, err error) {
	const pluginData, pluginName, pluginContent = 1, 1, 2
	err = wire.Each(metadata, func(x wire.Field) error {
		if x.Number != pluginData {
			return nil
		}
		return wire.Each(x.Text, func(y wire.Field) error {
			switch y.Number {
			case pluginName:
				name = string(y.Text)
			case pluginContent:
				content = y.Text
			}
			return nil
		})
	})
	return name, content, err
}

// The fields of TensorProto and the types of numbers that are read.
const (
	tensorType, tensorContent, tensorHalf, tensorFloat, tensorDouble, tensorInt, tensorInt64, tensorBool = 1, 4, 13, 5, 6, 7, 10, 11
	typeFloat, typeDouble, typeInt32, typeInt64, typeBool, typeBfloat, typeHalf                          = 1, 2, 3, 9, 10, 14, 19
)

// scalarOf is the value of a tensor with one number.
func scalarOf(tensor []byte) (value float64, is bool, err error) {
	kind := int64(0)
	err = wire.Each(tensor, func(x wire.Field) error {
		width := 0
		switch x.Number {
		case tensorType:
			kind = x.Int()
			return nil
		case tensorFloat:
			width = 4
		case tensorDouble:
			width = 8
		case tensorContent:
			value, is = numberIn(x.Text, kind)
			return nil
		case tensorHalf, tensorInt, tensorInt64, tensorBool:
		default:
			return nil
		}
		one, only := x.Only(width)
		switch is = only; {
		case !only:
		case x.Number == tensorFloat || x.Number == tensorDouble:
			value = one.Float()
		case x.Number == tensorHalf:
			value = half(uint16(one.Bits), kind)
		default:
			value = float64(one.Int())
		}
		return nil
	})
	return value, is, err
}

// numberIn is the number that the bytes of a tensor are.
func numberIn(b []byte, kind int64) (float64, bool) {
	switch {
	case kind == typeFloat && len(b) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case kind == typeDouble && len(b) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case kind == typeInt32 && len(b) == 4:
		return float64(int32(binary.LittleEndian.Uint32(b))), true
	case kind == typeInt64 && len(b) == 8:
		return float64(int64(binary.LittleEndian.Uint64(b))), true
	case kind == typeBool && len(b) == 1:
		return float64(b[0]), true
	case (kind == typeHalf || kind == typeBfloat) && len(b) == 2:
		return half(binary.LittleEndian.Uint16(b), kind), true
	}
	return 0, false
}

// half is a number of 16 bits.
func half(b uint16, kind int64) float64 {
	if kind == typeBfloat {
		return float64(math.Float32frombits(uint32(b) << 16))
	}
	sign, exponent, fraction := 1.0, int(b>>10&31), float64(b&1023)
	if b>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction != 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
