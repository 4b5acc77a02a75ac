/**
 * Types that the modules share. Times are ns from the origin of the capture, as numbers.
 *
 * @typedef {Object} Lane
 * @property {number} id
 * @property {number|null} parent
 * @property {string} kind gpu, process and thread hold lanes, `line` holds a curve, all others events
 * @property {string} title
 * @property {string} [detail]
 * @property {number} rows events in the same row never overlap
 * @property {number} events
 * @property {number} busy_ns
 * @property {number|null} group lanes of a group share their tiles
 * @property {string} [unit]
 * @property {number} [max]
 *
 * @typedef {Object} ColorClass
 * @property {string} name
 * @property {string} title
 * @property {string} light
 * @property {string} dark
 *
 * @typedef {Object} Step
 * @property {number} start
 * @property {number} end
 * @property {string} name
 * @property {boolean} [warmup]
 *
 * @typedef {Object} Lanes
 * @property {string} version
 * @property {string} origin_ns
 * @property {number} [begin_ns] at most 0: events may lie before the origin
 * @property {number} end_ns
 * @property {ColorClass[]} classes
 * @property {Lane[]} lanes
 * @property {Step[]} [steps]
 * @property {number} [left_out] number of lanes that are not listed
 * @property {number[]} [legend] classes of its operations and idle times, as indices
 *
 * @typedef {Object} Item an event, or several short ones of one bin (count > 1)
 * @property {number} lane
 * @property {number} row
 * @property {number} start
 * @property {number} end
 * @property {number} name
 * @property {number} color
 * @property {number} count
 * @property {number} busy share of the bin that is busy, 0 to 1
 * @property {number} ref
 *
 * @typedef {Object} Tile
 * @property {number} n
 * @property {Float64Array} start
 * @property {Float64Array} end
 * @property {Uint32Array} lane
 * @property {Uint16Array} row
 * @property {Uint32Array} name
 * @property {Uint16Array} color
 * @property {Uint32Array} count
 * @property {Float32Array} busy
 * @property {Float64Array} ref
 * @property {number} firstName offset of its names among those of all reports
 * @property {Map<number, Uint32Array>} items indices by lane, sorted by color and start
 * @property {Float64Array} pointStart
 * @property {Float32Array} mean
 * @property {Float32Array} min
 * @property {Float32Array} max
 * @property {Map<number, Uint32Array>} points indices by lane, sorted by start
 * @property {number} bytes
 *
 * @typedef {Object} Piece a time range and the tile to draw for it, of the window's level or of another one
 * @property {Tile} tile
 * @property {number} from
 * @property {number} to
 * @property {boolean} exact
 *
 * @typedef {Object} Arrow
 * @property {End} from
 * @property {End} to
 * @property {string} kind
 *
 * @typedef {Object} End
 * @property {number} lane
 * @property {number} ref
 * @property {number} start
 * @property {number} end
 * @property {number} [row]
 *
 * @typedef {Object} EventAnswer
 * @property {number} [row]
 * @property {number} [name_id]
 * @property {number} start
 * @property {number} end
 * @property {string} name
 * @property {[string, string][]} rows
 * @property {Arrow[]} arrows
 * @property {Record<string, string>} [links]
 *
 * @typedef {Object} Area
 * @property {number} from
 * @property {number} to
 * @property {number[]} lanes empty: all
 *
 * @typedef {Object} Mark
 * @property {number} t
 * @property {string} note
 *
 * @typedef {Object} Slot a lane and its place on the screen
 * @property {Lane} lane
 * @property {number} y from the top of all lanes, or of the pinned ones
 * @property {number} h
 * @property {number} rows levels that are shown
 * @property {number} reached levels that events in sight reach, as of the last picture
 * @property {number} rowHeight
 * @property {number} depth
 * @property {boolean} pinned
 *
 * @typedef {Object} Mounted argument that Streamlit passes to a component
 * @property {{report: string, name: string, module: string, selected: [number|null, number|null], marks: Mark[], may_edit: boolean, may_add: boolean, others: {id: string, name: string}[]}} data `selected`: time range that all pages show; `others`: reports drawn below
 * @property {HTMLElement | ShadowRoot} parentElement
 * @property {(name: string, value: unknown) => void} setStateValue
 * @property {(name: string, value: unknown) => void} setTriggerValue
 *
 * @typedef {(mounted: Mounted) => unknown} Component
 */
export {};
