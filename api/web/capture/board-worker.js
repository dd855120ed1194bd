/* board-worker.js - looks for the checkerboard beside the page's own thread. In: ImageData; out: its corners or null */
import { findBoard } from './corners.js';

onmessage = ({ data }) => postMessage(findBoard(data));
