package cluster

import (
	"reflect"
	"testing"

	"github.com/hashicorp/nomad/api"
)

func TestMeasuredOf(t *testing.T) {
	stats := func(attributes map[string]*api.StatValue) *api.DeviceStats {
		return &api.DeviceStats{Stats: &api.StatObject{Attributes: attributes}}
	}
	got := measuredOf([]*api.DeviceGroupStats{nil, {InstanceStats: map[string]*api.DeviceStats{
		"GPU-b": stats(map[string]*api.StatValue{"Temperature": {IntNumeratorVal: new(int64(71))}, "GPU utilization": {IntNumeratorVal: new(int64(83)), IntDenominatorVal: new(int64(100))},
			"Memory state": {IntNumeratorVal: new(int64(1000)), IntDenominatorVal: new(int64(16000))}, "Power usage": {FloatNumeratorVal: new(120.5), FloatDenominatorVal: new(300.0)},
			"ECC uncorrected errors": {IntNumeratorVal: new(int64(2))}}),
		"GPU-a": stats(map[string]*api.StatValue{"Power usage": {IntNumeratorVal: new(int64(9)), IntDenominatorVal: new(int64(15))}, "Temperature": nil}),
		"GPU-c": nil, "GPU-d": {},
	}}})
	want := []Measured{
		{Device: "GPU-a", PowerWatts: new(9.0), PowerLimitWatts: new(15.0)},
		{Device: "GPU-b", TemperatureC: new(int64(71)), Utilization: new(int64(83)), MemoryUsedMiB: new(int64(1000)), MemoryAllMiB: new(int64(16000)),
			PowerWatts: new(120.5), PowerLimitWatts: new(300.0), UncorrectedErrors: new(int64(2))},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
