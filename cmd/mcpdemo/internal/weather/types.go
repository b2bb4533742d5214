package weather

type listCitiesInput struct {
	Continent string `json:"continent,omitempty" enum:"Africa,Asia,Europe,North America,Oceania,South America" jsonschema:"Only cities on this continent."`
	Country   string `json:"country,omitempty" maxlen:"60" example:"DE" jsonschema:"Only cities in this country: its English name or its two-letter ISO 3166 code."`
}

type coordinates struct {
	Latitude  float64 `json:"latitude" min:"-90" max:"90" jsonschema:"Degrees north; negative is south."`
	Longitude float64 `json:"longitude" min:"-180" max:"180" jsonschema:"Degrees east; negative is west."`
}

type cityInfo struct {
	Name        string      `json:"name" jsonschema:"The name that the other tools take."`
	Country     string      `json:"country" jsonschema:"The country's English name."`
	CountryCode string      `json:"country_code" jsonschema:"The country's two-letter ISO 3166 code."`
	Continent   string      `json:"continent" enum:"Africa,Asia,Europe,North America,Oceania,South America" jsonschema:"The continent."`
	Coordinates coordinates `json:"coordinates" jsonschema:"Where the city is."`
	ElevationM  float64     `json:"elevation_m" jsonschema:"Height above sea level in metres."`
	Timezone    string      `json:"timezone" jsonschema:"The IANA time zone, for example Europe/Berlin."`
}

type listCitiesOutput struct {
	Count  int        `json:"count" jsonschema:"How many cities matched."`
	Cities []cityInfo `json:"cities" jsonschema:"The cities, sorted by name."`
}

type nearestInput struct {
	Latitude  float64 `json:"latitude" min:"-90" max:"90" jsonschema:"Degrees north; negative is south."`
	Longitude float64 `json:"longitude" min:"-180" max:"180" jsonschema:"Degrees east; negative is west."`
	Limit     int     `json:"limit,omitempty" default:"1" min:"1" max:"10" jsonschema:"How many cities to return, nearest first."`
}

type nearCity struct {
	City       cityInfo `json:"city" jsonschema:"The city."`
	DistanceKM float64  `json:"distance_km" jsonschema:"Great-circle distance from the point in kilometres."`
}

type nearestOutput struct {
	Cities []nearCity `json:"cities" jsonschema:"The cities, nearest first."`
}

type unitNames struct {
	Temperature   string `json:"temperature" enum:"°C,°F" jsonschema:"Unit of all temperatures."`
	Precipitation string `json:"precipitation" enum:"mm,in" jsonschema:"Unit of precipitation; snow is given as the water it melts to."`
	Speed         string `json:"speed" enum:"km/h,mph" jsonschema:"Unit of wind speeds."`
}

type climateInput struct {
	City   string `json:"city" minlen:"1" maxlen:"60" example:"Tokyo" jsonschema:"The city's name as list_cities gives it; case and accents do not matter."`
	Months []int  `json:"months,omitempty" min:"1" max:"12" maxitems:"12" jsonschema:"Only these months, 1 for January to 12 for December. Absent or empty means all."`
	Units  string `json:"units,omitempty" enum:"metric,imperial" default:"metric" jsonschema:"The system of units of the answer."`
}

type monthNormals struct {
	Month         int     `json:"month" min:"1" max:"12" jsonschema:"1 for January to 12 for December."`
	Name          string  `json:"name" jsonschema:"The month's English name."`
	Mean          float64 `json:"mean" jsonschema:"Mean temperature."`
	High          float64 `json:"high" jsonschema:"Mean daily maximum temperature."`
	Low           float64 `json:"low" jsonschema:"Mean daily minimum temperature."`
	Precipitation float64 `json:"precipitation" jsonschema:"Precipitation of the month."`
	WetDays       float64 `json:"wet_days" jsonschema:"Days with at least 1 mm of precipitation."`
}

type annualNormals struct {
	Mean          float64 `json:"mean" jsonschema:"Mean temperature of the year."`
	Precipitation float64 `json:"precipitation" jsonschema:"Precipitation of the year."`
	WetDays       float64 `json:"wet_days" jsonschema:"Days of the year with at least 1 mm of precipitation."`
}

type climateOutput struct {
	City   cityInfo       `json:"city" jsonschema:"The city."`
	Units  unitNames      `json:"units" jsonschema:"The units of the figures."`
	Months []monthNormals `json:"months" jsonschema:"The months asked for, January first."`
	Annual annualNormals  `json:"annual" jsonschema:"The whole year, beyond the months asked for."`
}

type forecastInput struct {
	City      string `json:"city" minlen:"1" maxlen:"60" example:"Oslo" jsonschema:"The city's name as list_cities gives it; case and accents do not matter."`
	Days      int    `json:"days,omitempty" default:"5" min:"1" max:"16" jsonschema:"How many days to forecast."`
	StartDate string `json:"start_date,omitempty" format:"date" example:"2026-07-01" jsonschema:"The first day as YYYY-MM-DD. Absent means today in the city's time zone."`
	Units     string `json:"units,omitempty" enum:"metric,imperial" default:"metric" jsonschema:"The system of units of the answer."`
}

type forecastDay struct {
	Date              string  `json:"date" format:"date" jsonschema:"The day as YYYY-MM-DD."`
	Weekday           string  `json:"weekday" enum:"Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday" jsonschema:"The day of the week."`
	Condition         string  `json:"condition" enum:"clear,partly_cloudy,cloudy,fog,rain,heavy_rain,thunderstorm,sleet,snow" jsonschema:"The weather in a word."`
	High              float64 `json:"high" jsonschema:"Maximum temperature."`
	Low               float64 `json:"low" jsonschema:"Minimum temperature."`
	PrecipProbability int     `json:"precipitation_probability" min:"0" max:"100" jsonschema:"Chance of precipitation in percent."`
	Precipitation     float64 `json:"precipitation" min:"0" jsonschema:"Expected precipitation; 0 on a dry day."`
	WindSpeed         float64 `json:"wind_speed" min:"0" jsonschema:"Mean wind speed."`
	Humidity          int     `json:"humidity" min:"0" max:"100" jsonschema:"Relative humidity in percent."`
	Warning           *string `json:"warning" jsonschema:"A warning about the day, or null."`
}

type forecastOutput struct {
	City      cityInfo      `json:"city" jsonschema:"The city."`
	Units     unitNames     `json:"units" jsonschema:"The units of the figures."`
	StartDate string        `json:"start_date" format:"date" jsonschema:"The first day of the forecast."`
	Days      []forecastDay `json:"days" jsonschema:"One entry a day, in order."`
}

// units converts from the metric figures everything is computed in.
type units struct {
	names                             unitNames
	temperature, precipitation, speed func(metric float64) float64
}

func unitsOf(name string) units {
	if name == "imperial" {
		return units{unitNames{"°F", "in", "mph"},
			func(celsius float64) float64 { return round(celsius*9/5+32, 1) },
			func(mm float64) float64 { return round(mm/25.4, 2) },
			func(kmh float64) float64 { return round(kmh/1.609344, 0) }}
	}
	return units{unitNames{"°C", "mm", "km/h"},
		func(celsius float64) float64 { return round(celsius, 1) },
		func(mm float64) float64 { return round(mm, 1) },
		func(kmh float64) float64 { return round(kmh, 0) }}
}
