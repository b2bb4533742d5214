package weather

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

func cities(t *testing.T) []City {
	t.Helper()
	var list []City
	if err := json.Unmarshal(climateJSON, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestClimateTable(t *testing.T) {
	list := cities(t)
	if len(list) != 24 {
		t.Fatalf("%d cities, want 24", len(list))
	}
	for i := range list {
		c := &list[i]
		if c.Country == "" || len(c.CountryCode) != 2 || c.Continent == "" || c.Timezone == "" {
			t.Errorf("%s is incomplete: %+v", c.Name, c)
		}
		if _, err := time.LoadLocation(c.Timezone); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		for m := range 12 {
			if c.High[m] <= c.Low[m] || c.High[m] > 45 || c.Low[m] < -30 || c.WetDays[m] > 31 || (c.WetDays[m] > 3 && c.Precipitation[m] == 0) {
				t.Errorf("%s month %d: high %v low %v rain %v on %v days", c.Name, m+1, c.High[m], c.Low[m], c.Precipitation[m], c.WetDays[m])
			}
		}
	}
}

// TestForecastFollowsClimate checks that many years of forecasts average out
// to the normals they are computed from.
func TestForecastFollowsClimate(t *testing.T) {
	const years = 30
	list := cities(t)
	for i := range list {
		c := &list[i]
		// The interpolation between months lifts January's ends, so compare with
		// the daily normals it gives.
		var high, low, rain, wet, wantHigh, wantLow float64
		for year := range years {
			for day := range 31 {
				d := c.Forecast(time.Date(2000+year, 1, 1+day, 0, 0, 0, 0, time.UTC))
				if d.Low >= d.High || d.Humidity > 100 || d.PrecipProbability > 100 || d.Wind < 0 {
					t.Fatalf("%s: impossible day %+v", c.Name, d)
				}
				wantHigh += c.normal(&c.High, d.Date) / (31 * years)
				wantLow += c.normal(&c.Low, d.Date) / (31 * years)
				high += d.High / (31 * years)
				low += d.Low / (31 * years)
				rain += d.Precipitation / years
				if d.Precipitation > 0 {
					wet += 1.0 / years
				}
			}
		}
		if math.Abs(high-wantHigh) > 0.6 || math.Abs(low-wantLow) > 0.9 {
			t.Errorf("%s January: high %.1f for %.1f, low %.1f for %.1f", c.Name, high, wantHigh, low, wantLow)
		}
		if math.Abs(wet-c.WetDays[0]) > 2 || rain > 1.4*c.Precipitation[0]+5 || rain < 0.6*c.Precipitation[0]-5 {
			t.Errorf("%s January: %.1f wet days for %.1f, %.0f mm for %.0f", c.Name, wet, c.WetDays[0], rain, c.Precipitation[0])
		}
	}
}

func TestDistance(t *testing.T) {
	if d := distance(52.52, 13.40, 48.86, 2.35); math.Abs(d-878) > 3 {
		t.Errorf("Berlin to Paris: %v km", d)
	}
}

func TestServer(t *testing.T) {
	srv, err := New(0)
	if err != nil {
		t.Fatal(err)
	}
	tooltest.Tour(t, srv, []tooltest.Call{
		{Tool: "list_cities", Want: `"count":24`},
		{Tool: "list_cities", Args: map[string]any{"country": "türkiye"}, Want: `"Istanbul"`},
		{Tool: "list_cities", Args: map[string]any{"continent": "Africa", "country": "JP"}, Want: `{"cities":[],"count":0}`},
		{Tool: "list_cities", Args: map[string]any{"continent": "Atlantis"}, Fails: true, Want: "continent"},
		{Tool: "find_nearest_city", Args: map[string]any{"latitude": 48.86, "longitude": 2.35, "limit": 2}, Want: `"London"`},
		{Tool: "find_nearest_city", Args: map[string]any{"latitude": 91, "longitude": 0}, Fails: true, Want: "latitude"},
		{Tool: "get_climate", Args: map[string]any{"city": "sao paulo", "months": []int{1}}, Want: `"high":28.6`},
		{Tool: "get_climate", Args: map[string]any{"city": "Oslo", "units": "imperial"}, Want: `"°F"`},
		{Tool: "get_climate", Args: map[string]any{"city": "Osla"}, Fails: true, Want: "list_cities"},
		{Tool: "get_climate", Args: map[string]any{"city": "Xanadu"}, Fails: true, Want: "list_cities"},
		{Tool: "get_forecast", Args: map[string]any{"city": "Tokyo"}, Want: `"start_date":"`},
		{Tool: "get_forecast", Args: map[string]any{"city": "Oslo", "days": 16, "start_date": "2026-01-01"}, Want: `"date":"2026-01-16"`},
		{Tool: "get_forecast", Args: map[string]any{"city": "Oslo", "start_date": "tomorrow"}, Fails: true, Want: "YYYY-MM-DD"},
		{Tool: "get_forecast", Args: map[string]any{"city": "Oslo", "days": 17}, Fails: true, Want: "days"},
	})
}

func TestForecastIsStable(t *testing.T) {
	srv, err := New(0)
	if err != nil {
		t.Fatal(err)
	}
	client := tooltest.Connect(t, srv)
	args := map[string]any{"city": "Berlin", "days": 1, "start_date": "2026-07-01"}
	got, _ := tooltest.Do(t, client, "get_forecast", args)
	const want = `"days":[{"condition":"partly_cloudy","date":"2026-07-01","high":19.8`
	if len(got) < 200 || !contains(got, want) {
		t.Errorf("the forecast of a fixed day changed:\n%s", got)
	}
	// A later start gives the same weather for the same day.
	args = map[string]any{"city": "Berlin", "days": 3, "start_date": "2026-06-29"}
	if got, _ := tooltest.Do(t, client, "get_forecast", args); !contains(got, want[8:]) {
		t.Errorf("overlapping forecasts differ:\n%s", got)
	}
}

// TestLatency checks that the delay applies, that calls wait side by side, and
// that a cancelled call does not wait.
func TestLatency(t *testing.T) {
	const latency = 500 * time.Millisecond
	srv, err := New(latency)
	if err != nil {
		t.Fatal(err)
	}
	client := tooltest.Connect(t, srv)
	start := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { tooltest.Do(t, client, "list_cities", nil) })
	}
	wg.Wait()
	if took := time.Since(start); took < latency || took > 15*latency { // one after the other: 20*latency
		t.Errorf("20 calls took %v, want at least %v and at most %v", took, latency, 15*latency)
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := callList(ctx, client); err == nil {
		t.Error("a cancelled call succeeded: got no error, want an error")
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }

func callList(ctx context.Context, client *mcp.ClientSession) error {
	_, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "list_cities", Arguments: map[string]any{}})
	return err
}
