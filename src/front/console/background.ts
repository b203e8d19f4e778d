import { Live } from './live.ts'
import type { Stage } from './stage.ts'
import { plain } from './style.ts'

/** How long a line that has begun waits for its end, in milliseconds. */
const REST_MS = 200

/** Prints what comes by itself above whatever is being written, in whole lines. */
export function openBackground(stage: Stage): (text: string) => void {
  const live = new Live()
  let timer: NodeJS.Timeout | undefined
  const print = (text: string) => {
    if (text !== '') stage.print([plain(text)])
  }
  return text => {
    clearTimeout(timer)
    print(live.push(text))
    timer = setTimeout(() => print(live.close()), REST_MS)
  }
}
