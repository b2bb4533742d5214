package hostapi_test

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runner/hostapi"
)

// Methods without a function are not offered.
func ExampleMethods_All() {
	h := hostapi.Methods{Image: func(mimeType string, data []byte) error {
		fmt.Println(mimeType, len(data))
		return nil
	}}
	methods := h.All()
	answer, err := methods["output/image"](context.Background(), []byte(`{"mimeType":"image/png","data":"aGk="}`))
	fmt.Println(len(methods), string(answer), err)
	// Output:
	// image/png 2
	// 1 {} <nil>
}
