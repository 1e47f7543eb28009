package table

import (
	"fmt"
	"reflect"
	"time"
)

// NA stands for what is not known, in the tables where Determined writes it.
const NA = "N/A"

// OrNA is a cell that is NA when there is nothing.
func OrNA(cell any) any {
	if v := reflect.ValueOf(cell); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return NA
	}
	return plain(cell)
}

// Time is a time in UTC; nil when there is none.
func Time(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02 15:04:05-0700")
}

// Percent is a fraction as a percentage; nil when there is none.
func Percent(f *float64) any {
	if f == nil {
		return nil
	}
	return fmt.Sprintf("%.1f%%", *f*100)
}
